// The update in host memory, by shards.
#pragma once

#include <map>
#include <memory>
#include <string>
#include <vector>

#include "lockstep/train/update.h"

namespace lockstep {

struct DeviceScratch;  // contexts and buffers of one device

/// Owns the optimizer's tensors. Bits do not depend on the number of devices.
class UpdateProgram : public Update, public ShardedUpdate {
 public:
  UpdateProgram(const Backend& backend, int devices, const StepLayout& layout,
                OptimizerPtr optimizer, VariableSpace& variables);
  ~UpdateProgram() override;

  /// One a device: whole blocks; variables that may not be cut stay whole; the last device also has
  /// everything behind the gradients.
  const std::vector<Shard>& shards() const { return shards_; }

  void set_scalars(const UpdateScalars& scalars) override;
  int phase_count() const override;
  void run_phase(int phase, int device, float* sums) override;

  float penalty() override;
  void apply_averages() override;
  std::vector<OptimizerVariable> save() override { return tensors_.save(); }
  void load(const std::vector<OptimizerVariable>& saved) override { tensors_.load(saved); }

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

  const Backend& backend_;
  const StepLayout& layout_;
  OptimizerPtr optimizer_;
  VariableSpace& variables_;
  OptimizerTensors tensors_;
  std::vector<VariablePlan> plans_;
  std::vector<Block> blocks_;
  std::vector<Shard> shards_;
  std::vector<std::pair<int, int>> device_blocks_;  // [first, last)
  std::unique_ptr<Programs> programs_;
  std::vector<std::unique_ptr<DeviceScratch>> scratch_;
  std::vector<float> squares_, penalties_;  // partial sums of each block
  std::vector<float> variable_penalties_;
  UpdateScalars scalars_;
};

}  // namespace lockstep
