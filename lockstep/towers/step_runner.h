// What runs one kind of step on the devices of a team: TowerRunner in host memory, ResidentRunner
// where devices have a memory of their own.
#pragma once

#include <functional>
#include <memory>
#include <vector>

#include "lockstep/towers/device_team.h"
#include "lockstep/towers/step_plan.h"
#include "lockstep/towers/tower_plan.h"

namespace lockstep {

enum class Placement { kStatic, kDynamic };

struct RunnerOptions {
  int64_t tower_size = 32;
  Placement placement = Placement::kStatic;
  /// Called before each tower with (device, tower): tests slow a device down with it.
  std::function<void(int, int)> before_tower;
};

/// Tree sums of one step behind the gradients: losses, metrics and layer statistics.
class StepSums {
 public:
  virtual ~StepSums() = default;
  /// From element `offset` of all sums on, in host memory. Waits for the step where it still runs,
  /// and throws what made it fail there.
  virtual const float* from(int64_t offset) = 0;
};

/// Results have the same bits whatever the team's size and the placement. Not thread-safe; one
/// step at a time.
class StepRunner {
 public:
  StepRunner(DeviceTeam& team, StepPlan plan, RunnerOptions options)
      : team_(team), plan_(std::move(plan)), options_(std::move(options)) {}
  virtual ~StepRunner() = default;

  /// Runs a step. `plan().programs` must hold a program for every tower shape of `data.rows`
  /// (see tower_shapes). Rethrows the first device's error.
  virtual void run(const StepData& data) = 0;

  /// Tower shapes (rows, each once) that a batch of `rows` is cut into.
  std::vector<int64_t> tower_shapes(int64_t rows) const;
  bool has_program(int64_t rows) const { return plan_.find(rows) != nullptr; }
  void add_program(std::shared_ptr<TowerProgram> program);
  const StepPlan& plan() const { return plan_; }

  /// Of the last step. TowerRunner's are overwritten by the next; those of ResidentRunner, whose
  /// steps may still be under way when `run` returns, stay.
  virtual std::shared_ptr<StepSums> sums() = 0;
  /// All of them, gradients as they were before the update.
  virtual std::vector<float> copy_sums() = 0;

  /// Runs a step in which every kernel is repeated (Executable::time_kernels) on all devices at
  /// once: means over the towers of the first tower's shape. The step's results mean nothing.
  virtual std::vector<KernelTime> time_kernels(StepData data, int repeats) = 0;

  /// Summed over devices and steps since the last reset.
  virtual PhaseTimes times() const = 0;
  virtual void reset_times() = 0;
  /// Host memory of all contexts, sum buffers and kept values.
  virtual size_t size_bytes() const = 0;

 protected:
  DeviceTeam& team_;
  StepPlan plan_;
  RunnerOptions options_;
};

/// Adds to `*total` the seconds until the end of the scope.
class Timed {
 public:
  explicit Timed(double* total) : total_(total), start_(monotonic_seconds()) {}
  ~Timed() { *total_ += monotonic_seconds() - start_; }

 private:
  double* total_;
  double start_;
};

}  // namespace lockstep
