// Runs one kind of step on the devices of a team: towers, tree, shards, update.
#pragma once

#include <atomic>
#include <functional>
#include <map>
#include <memory>
#include <vector>

#include "lockstep/towers/device_team.h"
#include "lockstep/towers/step_plan.h"
#include "lockstep/towers/tower_plan.h"
#include "lockstep/towers/tree_reduce.h"

namespace lockstep {

enum class Placement { kStatic, kDynamic };

struct RunnerOptions {
  int64_t tower_size = 32;
  Placement placement = Placement::kStatic;
  /// Called before each tower with (device, tower): tests slow a device down with it.
  std::function<void(int, int)> before_tower;
};

/// Results have the same bits whatever the team's size and the placement. Not thread-safe; one
/// step at a time. After the second step of a shape nothing is allocated.
class TowerRunner {
 public:
  TowerRunner(DeviceTeam& team, StepPlan plan, RunnerOptions options);
  ~TowerRunner();

  /// Runs a step. `plan.programs` must hold a program for every tower shape of `data.rows`
  /// (see tower_shapes). Rethrows the first device's error.
  void run(const StepData& data);

  /// Tower shapes (rows, each once) that a batch of `rows` is cut into.
  std::vector<int64_t> tower_shapes(int64_t rows) const;
  bool has_program(int64_t rows) const { return plan_.find(rows) != nullptr; }
  void add_program(std::shared_ptr<TowerProgram> program);

  /// Tree sums of the last step, plan.sums_size elements.
  float* sums() { return fold_.data(fold_.result()); }
  const StepPlan& plan() const { return plan_; }

  /// Runs a step in which every kernel is repeated (Executable::time_kernels) on all devices at
  /// once: means over the towers of the first tower's shape. The step's results mean nothing.
  std::vector<KernelTime> time_kernels(StepData data, int repeats);

  /// Summed over devices and steps since the last reset.
  PhaseTimes times() const;
  void reset_times();
  /// Working memory of all contexts, sum buffers and kept values.
  size_t size_bytes() const;

 private:
  struct Cut;  // towers of one batch size, where they run and with which program
  struct KernelSums;
  struct DeviceState;  // what a device needs to run towers without allocating
  struct Kept;         // per-tower values and exchanges between segments

  Cut& cut(int64_t rows);
  void job(int device);
  void prologue(int device);
  void run_towers(int device, int segment);
  void run_tower(int device, int segment, int tower);
  void exchange(int segment);
  void reduce(int device);
  ExecutionContext& context(int device, const Executable& executable);

  DeviceTeam& team_;
  StepPlan plan_;
  RunnerOptions options_;
  TreeFold fold_;
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
