// Slots, averages and accumulators of an optimizer in host memory, each laid out as the gradients;
// from and to the lists of Keras's files.
#pragma once

#include <string>
#include <vector>

#include "lockstep/nn/optimizer.h"
#include "lockstep/nn/optimizer_state.h"
#include "lockstep/train/tower_graph.h"

namespace lockstep {

class OptimizerTensors {
 public:
  /// Filled with the values that they start from. `layout` must outlive them.
  OptimizerTensors(const StepLayout& layout, const Optimizer& optimizer);

  std::vector<AlignedBytes> slots;      // as optimizer.slots()
  AlignedBytes averages, accumulators;  // empty where the optimizer keeps none

  /// Each of them in turn: accumulators, averages, slots.
  std::vector<AlignedBytes*> all();

  /// Under the names and in the order of Keras's files.
  std::vector<OptimizerVariable> save() const;
  /// Throws InvalidArgument naming the first tensor whose count or shape does not fit; nothing is
  /// changed then.
  void load(const std::vector<OptimizerVariable>& saved);

 private:
  struct StateTensor {
    size_t variable;  // among the trainable ones
    const AlignedBytes* storage;
    std::string suffix;
  };
  std::vector<StateTensor> state_tensors() const;

  const StepLayout& layout_;
  std::string optimizer_name_;
  std::vector<SlotSpec> slot_specs_;
};

}  // namespace lockstep
