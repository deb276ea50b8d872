// The order of samples in an epoch: a pure function of (seed, epoch), computed by index without a
// table (docs/determinism.md, "Data order").
#pragma once

#include <cstdint>

#include "lockstep/tensor/philox.h"

namespace lockstep {

/// A permutation of [0, size): a six-round Feistel network over the next even power of two, keyed
/// by Philox, walked until it lands inside. Without shuffle, the identity.
class EpochOrder {
 public:
  EpochOrder(int64_t size, uint64_t seed, int64_t epoch, bool shuffle);
  /// Sample at a position; 0 <= position < size.
  int64_t operator[](int64_t position) const;

 private:
  uint64_t encrypt(uint64_t value) const;

  uint64_t size_;
  bool shuffle_;
  int half_bits_ = 1;
  uint32_t epoch_low_, epoch_high_;
  PhiloxKey key_;
};

}  // namespace lockstep
