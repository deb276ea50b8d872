#include "lockstep/data/order.h"

namespace lockstep {
namespace {

constexpr uint32_t kRounds = 6;  // four mix large sets; six also mix very small ones

}  // namespace

EpochOrder::EpochOrder(int64_t size, uint64_t seed, int64_t epoch, bool shuffle)
    : size_(static_cast<uint64_t>(size)),
      shuffle_(shuffle),
      epoch_low_(static_cast<uint32_t>(epoch)),
      epoch_high_(static_cast<uint32_t>(static_cast<uint64_t>(epoch) >> 32)),
      key_(philox_key(seed, RandomPurpose::kShuffle, "")) {
  while ((uint64_t{1} << (2 * half_bits_)) < size_) ++half_bits_;
}

uint64_t EpochOrder::encrypt(uint64_t value) const {
  const uint64_t mask = (uint64_t{1} << half_bits_) - 1;
  uint64_t left = value >> half_bits_, right = value & mask;
  for (uint32_t round = 0; round < kRounds; ++round) {
    const auto words =
        philox4x32({static_cast<uint32_t>(right), round, epoch_low_, epoch_high_}, key_);
    const uint64_t next = (left ^ words[0]) & mask;
    left = right;
    right = next;
  }
  return left << half_bits_ | right;
}

int64_t EpochOrder::operator[](int64_t position) const {
  if (!shuffle_) return position;
  // At most four times as many values as samples: about four steps at worst on average.
  uint64_t value = static_cast<uint64_t>(position);
  do {
    value = encrypt(value);
  } while (value >= size_);
  return static_cast<int64_t>(value);
}

}  // namespace lockstep
