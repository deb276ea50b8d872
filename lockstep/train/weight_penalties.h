// Penalties of the weights as they are, for evaluation; a training step has them from its update.
#pragma once

#include <map>
#include <memory>
#include <tuple>
#include <vector>

#include "lockstep/train/device_scratch.h"
#include "lockstep/train/variable_space.h"

namespace lockstep {

class WeightPenalties {
 public:
  explicit WeightPenalties(const Backend& backend) : backend_(backend) {}

  /// Is any of them regularised?
  static bool applies_to(const std::vector<VariablePtr>& variables);

  /// Sum over the regularised ones of `variables`: blocks, then variables, along the tree. Worked
  /// out again only when values in `space` have changed.
  float total(const std::vector<VariablePtr>& variables, const VariableSpace& space);

 private:
  float block_penalty(const Regularizer& regularizer, const float* weights, int64_t n);

  const Backend& backend_;
  std::map<std::tuple<double, double, int64_t>, std::shared_ptr<Executable>> programs_;
  DeviceScratch scratch_;
  uint64_t version_ = 0;  // of the values that total_ belongs to
  float total_ = 0;
};

}  // namespace lockstep
