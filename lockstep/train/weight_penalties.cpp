#include "lockstep/train/weight_penalties.h"

#include <algorithm>

#include "lockstep/towers/tree_reduce.h"
#include "lockstep/train/update_graphs.h"

namespace lockstep {

bool WeightPenalties::applies_to(const std::vector<VariablePtr>& variables) {
  return std::any_of(variables.begin(), variables.end(),
                     [](const VariablePtr& variable) { return variable->regularizer != nullptr; });
}

float WeightPenalties::total(const std::vector<VariablePtr>& variables,
                             const VariableSpace& space) {
  if (version_ == space.version()) return total_;
  std::vector<float> penalties;
  for (const VariablePtr& variable : variables) {
    if (!variable->regularizer) continue;
    std::vector<float> blocks;
    for (int64_t begin = 0; begin < variable->size(); begin += kUpdateBlock)
      blocks.push_back(block_penalty(*variable->regularizer,
                                     space.data() + space.offset(*variable) + begin,
                                     std::min(kUpdateBlock, variable->size() - begin)));
    penalties.push_back(tree_sum(blocks));
  }
  version_ = space.version();
  return total_ = tree_sum(penalties);
}

float WeightPenalties::block_penalty(const Regularizer& regularizer, const float* weights,
                                     int64_t n) {
  auto& program = programs_[{regularizer.l1, regularizer.l2, n}];
  if (!program) program = backend_.compile(*penalty_graph(regularizer, n), {"penalty"});
  HostTensor gradient(DType::kF32, {n});  // which the program adds to and nobody wants here
  float sum = 0;
  scratch_.run(*program, {weights, gradient.bytes()}, {}, {gradient.data<float>().data(), &sum},
               {});
  return sum;
}

}  // namespace lockstep
