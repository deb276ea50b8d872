// What a training loop of one's own is fed with. All of it is a pure function of its arguments, so
// that such a loop goes on after a stop with nothing but its step number.
#pragma once

#include <string_view>

#include "lockstep/data/dataset.h"

namespace lockstep {

struct ShuffledBatchOptions {
  int64_t batch_size = 32;
  uint64_t seed = 0;
  int64_t step = 0;  // counted from 0, through all passes
};

/// Inputs of batch `step` of endless passes over the data, each pass in an order of its own;
/// samples that do not fill a batch at a pass's end are left out of it. f32[batch_size, ...]: bytes
/// with a divisor are divided. Throws InvalidArgument for a dataset without exactly one input, and
/// for one smaller than a batch.
HostTensor shuffled_batch(const DatasetPtr& data, const ShuffledBatchOptions& options);

/// Standard normal numbers, f32: `stream` and `step` tell what they are for, and other ones give
/// other numbers.
HostTensor random_normal(const Shape& shape, uint64_t seed, std::string_view stream,
                         int64_t step = 0);

/// f32 of one value: targets that are the same for a whole batch.
HostTensor full(const Shape& shape, float value);

}  // namespace lockstep
