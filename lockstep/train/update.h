// The update as the trainer sees it, wherever weights and slots live: penalties' gradient,
// accumulation, clipping, weight decay, optimizer, averages, constraints, layer state; in Keras 3's
// order (docs/determinism.md, "Update").
#pragma once

#include "lockstep/train/optimizer_tensors.h"

namespace lockstep {

/// Scalars of one step.
struct UpdateScalars {
  float learning_rate = 0;
  int64_t iterations = 0;  // steps done before this one
  float global_rows = 0;
};

/// Bits do not depend on the number of devices.
class Update {
 public:
  virtual ~Update() = default;

  virtual void set_scalars(const UpdateScalars& scalars) = 0;
  /// False from the moment an update begins until all devices have done it, and so ever after one
  /// that failed: weights and state are then in part old, in part new, in part given away.
  virtual bool is_whole() const { return true; }
  /// Weight penalties of the last step's weights (before the update): blocks, then variables, along
  /// the tree.
  virtual float penalty() = 0;
  /// Overwrites the weights with their moving averages, as Keras does at the end of fit.
  virtual void apply_averages() = 0;

  /// Slots, averages and accumulators, in the order and under the names of Keras's files.
  virtual std::vector<OptimizerVariable> save() = 0;
  /// Throws InvalidArgument naming the first tensor whose count or shape does not fit; nothing is
  /// changed then.
  virtual void load(const std::vector<OptimizerVariable>& saved) = 0;
};

}  // namespace lockstep
