// Steps on devices with a memory of their own: weights, sums and optimizer state stay there; rows
// go in, losses come out. Towers are queued without waiting for them.
#pragma once

#include <memory>
#include <vector>

#include "lockstep/towers/resident_variables.h"
#include "lockstep/towers/step_runner.h"

namespace lockstep {

/// Placement is static. Sums follow the same tree as in host memory: each device folds its own
/// towers; what remains is copied, piece by piece, to the device that owns it and added there.
class ResidentRunner : public StepRunner {
 public:
  ResidentRunner(DeviceTeam& team, const DeviceMemory& memory, StepPlan plan,
                 RunnerOptions options);
  ~ResidentRunner() override;

  /// `data.resident` must be set.
  void run(const StepData& data) override;
  std::shared_ptr<StepSums> sums() override;
  std::vector<float> copy_sums() override;
  /// The whole program of a tower's segment, waited for.
  std::vector<KernelTime> time_kernels(StepData data, int repeats) override;
  PhaseTimes times() const override;
  void reset_times() override;
  size_t size_bytes() const override;

 private:
  using Tensors = std::vector<DeviceTensorPtr>;
  class TailSums;
  struct Node {  // sums of the towers [index << level, (index + 1) << level)
    int level = 0, index = 0;
    Tensors sums;
  };
  struct DeviceState {
    PhaseTimes times;
    std::vector<Node> nodes;                                   // finished, not yet folded
    std::vector<std::vector<DeviceTensorPtr>> scattered;       // of each node: what each owner gets
    std::vector<std::pair<int64_t, DeviceTensorPtr>> scalars;  // of this step, by byte offset
    Tensors owned;  // sums that this device owns, the tail last on device 0
    std::vector<KernelTime> kernels;
    int timed_towers = 0;
  };

  void compile_programs();
  void job(int device);
  void run_tower(int device, int segment, int tower);
  DeviceTensorPtr input(int device, int tower, const SegmentPlan& segment, size_t position);
  Tensors run_segment(int device, const SegmentPlan& segment, const Tensors& inputs);
  void deposit(int device, int tower, Tensors sums);
  void exchange(int segment);
  void scatter(int device);
  void reduce(int device);
  DeviceTensorPtr total(int device, int level, int index);
  const Node* find(int level, int index, int* device, size_t* position) const;
  bool exists(int level, int index) const;

  const DeviceMemory& memory_;
  std::vector<int64_t> sizes_;  // of each tensor of sums: pieces, then the tail
  std::vector<int> owners_;
  std::shared_ptr<DeviceProgram> add_all_, scatter_;
  std::vector<std::shared_ptr<DeviceProgram>> add_joined_, split_;  // of each owner
  std::vector<DeviceState> devices_;
  // [slot][tower]
  std::vector<std::vector<DeviceTensorPtr>> values_, exchanges_;
  std::vector<std::vector<float>> exchanged_;  // totals, in host memory
  std::shared_ptr<TailSums> sums_;             // of the last step

  // of the step in progress
  const StepData* data_ = nullptr;
  std::vector<TowerRows> towers_;
  std::vector<const TowerProgram*> programs_;  // of each tower
  std::vector<TowerRange> ranges_;
  int kernel_repeats_ = 0;
};

}  // namespace lockstep
