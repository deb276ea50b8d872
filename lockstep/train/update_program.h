// The update: penalties' gradient, accumulation, clipping, weight decay, optimizer, averages,
// constraints, layer state; in Keras 3's order, by shards (docs/determinism.md, "Update").
#pragma once

#include <map>
#include <memory>
#include <string>
#include <vector>

#include "lockstep/nn/optimizer_state.h"
#include "lockstep/train/tower_graph.h"

namespace lockstep {

struct DeviceScratch;  // contexts and buffers of one device

/// Scalars of one step.
struct UpdateScalars {
  float learning_rate = 0;
  int64_t iterations = 0;  // steps done before this one
  float global_rows = 0;
};

/// Owns the optimizer's tensors. Bits do not depend on the number of devices.
class UpdateProgram : public ShardedUpdate {
 public:
  UpdateProgram(const Backend& backend, int devices, const StepLayout& layout,
                OptimizerPtr optimizer, VariableSpace& variables);
  ~UpdateProgram() override;

  /// One a device: whole blocks; variables that may not be cut stay whole; the last device also has
  /// everything behind the gradients.
  const std::vector<Shard>& shards() const { return shards_; }

  void set_scalars(const UpdateScalars& scalars);
  int phase_count() const override;
  void run_phase(int phase, int device, float* sums) override;

  /// Weight penalties of the last step's weights (before the update): blocks, then variables, along
  /// the tree.
  float penalty();

  /// Overwrites the weights with their moving averages, as Keras does at the end of fit.
  void apply_averages();

  /// Slots, averages and accumulators, in the order and under the names of Keras's files.
  std::vector<OptimizerVariable> save() const;
  /// Throws InvalidArgument naming the first tensor whose count or shape does not fit; nothing is
  /// changed then.
  void load(const std::vector<OptimizerVariable>& saved);

 private:
  struct Block;
  struct VariablePlan;
  struct Programs;

  bool needs_norms() const;
  bool is_update_step() const;
  void cut_shards(int devices);
  void compile();
  void prepare_block(int device, int block, float* sums);
  void apply_block(int device, const Block& block, float* sums);
  void constrain(int device, int variable);
  void update_moving_averages(int device, const float* sums);
  void compute_norms(int device);
  struct StateTensor {
    size_t variable;  // among the trainable ones
    const AlignedBytes* storage;
    std::string suffix;
  };
  std::vector<StateTensor> state_tensors() const;

  const Backend& backend_;
  const StepLayout& layout_;
  OptimizerPtr optimizer_;
  VariableSpace& variables_;
  std::vector<SlotSpec> slot_specs_;
  std::vector<VariablePlan> plans_;
  std::vector<Block> blocks_;
  std::vector<Shard> shards_;
  std::vector<std::pair<int, int>> device_blocks_;  // [first, last)
  std::unique_ptr<Programs> programs_;
  std::vector<std::unique_ptr<DeviceScratch>> scratch_;
  std::vector<AlignedBytes> slots_;  // each laid out as the gradients
  AlignedBytes averages_, accumulators_;
  std::vector<float> squares_, penalties_;  // partial sums of each block
  std::vector<float> variable_penalties_;
  UpdateScalars scalars_;
};

}  // namespace lockstep
