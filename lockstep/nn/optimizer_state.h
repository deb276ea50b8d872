// What an optimizer remembers between steps, as tensors in the order of Keras's files.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "lockstep/tensor/host_tensor.h"

namespace lockstep {

struct OptimizerVariable {
  std::string name;  // as Keras names it: "dense_kernel_momentum"
  HostTensor value;
};

/// vars/0 iteration (i64), vars/1 learning_rate (f32; absent under a schedule), then `variables`:
/// all EMA averages, all gradient accumulators, then the slots group by group.
struct OptimizerState {
  int64_t iterations = 0;
  std::optional<float> learning_rate;
  std::vector<OptimizerVariable> variables;
};

}  // namespace lockstep
