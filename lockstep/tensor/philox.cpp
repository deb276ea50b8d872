#include "lockstep/tensor/philox.h"

#include <cmath>
#include <numbers>

namespace lockstep {

PhiloxKey philox_key(uint64_t seed, RandomPurpose purpose, std::string_view name) {
  // FNV-1a over the name, then one Philox call mixes seed, purpose and name into a key.
  uint64_t hash = 0xcbf29ce484222325u;
  for (unsigned char c : name) hash = (hash ^ c) * 0x100000001b3u;
  const auto words = philox4x32({static_cast<uint32_t>(hash), static_cast<uint32_t>(hash >> 32),
                                 static_cast<uint32_t>(purpose), 0},
                                {static_cast<uint32_t>(seed), static_cast<uint32_t>(seed >> 32)});
  return {words[0], words[1]};
}

uint32_t PhiloxStream::next() {
  if (used_ == 4) {
    words_ = philox4x32({static_cast<uint32_t>(block_), static_cast<uint32_t>(block_ >> 32), 0, 0},
                        key_);
    ++block_;
    used_ = 0;
  }
  return words_[used_++];
}

double PhiloxStream::uniform() {
  const uint64_t high = next() >> 5, low = next() >> 6;
  return static_cast<double>((high << 26) | low) * 0x1p-53;
}

double PhiloxStream::normal() {
  const double u = 1.0 - uniform(), v = uniform();
  return std::sqrt(-2.0 * std::log(u)) * std::cos(2.0 * std::numbers::pi * v);
}

uint64_t PhiloxStream::below(uint64_t bound) {
  // Rejection above the largest multiple of bound keeps every value equally likely.
  const uint64_t limit = UINT64_MAX - UINT64_MAX % bound;
  uint64_t value;
  do {
    value = (uint64_t{next()} << 32) | next();
  } while (value >= limit);
  return value % bound;
}

}  // namespace lockstep
