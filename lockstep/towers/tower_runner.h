// Steps in host memory: towers, tree, shards, update.
#pragma once

#include <atomic>
#include <functional>
#include <map>
#include <memory>
#include <vector>

#include "lockstep/towers/step_runner.h"
#include "lockstep/towers/tree_reduce.h"

namespace lockstep {

/// After the second step of a shape nothing is allocated.
class TowerRunner : public StepRunner {
 public:
  TowerRunner(DeviceTeam& team, StepPlan plan, RunnerOptions options);
  ~TowerRunner() override;

  void run(const StepData& data) override;

  std::shared_ptr<StepSums> sums() override { return sums_; }
  std::vector<float> copy_sums() override { return {data(), data() + plan_.sums_size}; }

  std::vector<KernelTime> time_kernels(StepData data, int repeats) override;
  PhaseTimes times() const override;
  void reset_times() override;
  size_t size_bytes() const override;

 private:
  class Sums;
  struct Cut;  // towers of one batch size, where they run and with which program
  struct KernelSums;
  struct DeviceState;  // what a device needs to run towers without allocating
  struct Kept;         // per-tower values and exchanges between segments

  /// Tree sums of the last step, plan.sums_size elements.
  float* data() { return fold_.data(fold_.result()); }
  Cut& cut(int64_t rows);
  void job(int device);
  void prologue(int device);
  void run_towers(int device, int segment);
  void run_tower(int device, int segment, int tower);
  void exchange(int segment);
  void reduce(int device);
  ExecutionContext& context(int device, const Executable& executable);

  TreeFold fold_;
  std::shared_ptr<StepSums> sums_;
  std::map<int64_t, std::unique_ptr<Cut>> cuts_;
  std::vector<std::unique_ptr<DeviceState>> devices_;
  std::unique_ptr<Kept> kept_;
  std::function<void(int)> job_;

  // of the step in progress
  const StepData* data_ = nullptr;
  Cut* cut_ = nullptr;
  int kernel_repeats_ = 0;  // above 0: kernels are timed
  std::atomic<int> next_task_{0}, next_tower_{0};
};

}  // namespace lockstep
