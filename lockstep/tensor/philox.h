// Philox4x32-10 (Salmon et al., "Parallel random numbers: as easy as 1, 2, 3", SC'11): the only
// source of random numbers. Keys and counters are laid down in docs/determinism.md.
#pragma once

#include <array>
#include <cstdint>
#include <string_view>

namespace lockstep {

struct PhiloxKey {
  uint32_t k0 = 0, k1 = 0;
  bool operator==(const PhiloxKey&) const = default;
};

using PhiloxCounter = std::array<uint32_t, 4>;

/// Four independent uniform 32-bit words.
inline std::array<uint32_t, 4> philox4x32(PhiloxCounter c, PhiloxKey key) {
  for (int round = 0; round < 10; ++round) {
    const uint64_t p0 = uint64_t{0xD2511F53u} * c[0];
    const uint64_t p1 = uint64_t{0xCD9E8D57u} * c[2];
    c = {static_cast<uint32_t>(p1 >> 32) ^ c[1] ^ key.k0, static_cast<uint32_t>(p1),
         static_cast<uint32_t>(p0 >> 32) ^ c[3] ^ key.k1, static_cast<uint32_t>(p0)};
    key.k0 += 0x9E3779B9u;
    key.k1 += 0xBB67AE85u;
  }
  return c;
}

/// What a stream of random numbers is for; streams of different purposes never meet.
enum class RandomPurpose : uint32_t {
  kInit = 1,
  kShuffle = 2,
  kAugment = 3,
  kLayer = 4,
  kNoise = 5
};

/// Key of (seed, purpose, name): `name` is the model's for layers, the variable's path for
/// initializers, stream and step for noise, empty for the data order. A pure function, the same on
/// every machine.
PhiloxKey philox_key(uint64_t seed, RandomPurpose purpose, std::string_view name);

/// Words of one stream, one after another: counter = (i, 0, 0, 0), word i mod 4.
class PhiloxStream {
 public:
  explicit PhiloxStream(PhiloxKey key) : key_(key) {}
  uint32_t next();
  /// Uniform in [0, 1): 53 bits from two words.
  double uniform();
  /// Standard normal (Box-Muller, two uniforms a number).
  double normal();
  /// Uniform integer in [0, bound), unbiased. bound > 0.
  uint64_t below(uint64_t bound);

 private:
  PhiloxKey key_;
  uint64_t block_ = 0;
  int used_ = 4;
  std::array<uint32_t, 4> words_{};
};

}  // namespace lockstep
