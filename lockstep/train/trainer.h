// A compiled model on its devices: one step of training, evaluation or prediction at a time.
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "lockstep/backend/devices.h"
#include "lockstep/formats/json.h"
#include "lockstep/nn/trainable_flags.h"
#include "lockstep/towers/resident_variables.h"
#include "lockstep/towers/step_runner.h"
#include "lockstep/train/data_binding.h"
#include "lockstep/train/metric_totals.h"
#include "lockstep/train/update.h"
#include "lockstep/train/weight_penalties.h"

namespace lockstep {

struct TrainerOptions {
  std::string devices = "cpu";
  int64_t batch_size = 32;
  int64_t tower_size = 0;  // 0: auto, from batch size, backend kind and model
  uint64_t seed = 0;
  Placement placement = Placement::kStatic;
  bool global_batchnorm = false;
  /// Tests: called before each tower with (device, tower).
  std::function<void(int, int)> before_tower;
  std::filesystem::path program_folder = {};  // where compiled programs are kept; empty: nowhere
  /// In place of `devices`: a backend and how many devices of it.
  std::shared_ptr<Backend> backend = nullptr;
  int device_count = 0;
};

/// A training step that was begun: what its losses are made of.
struct StartedStep {
  int64_t number = 0;  // steps before it
  int64_t rows = 0;
  std::vector<double> denominators;  // of each loss
  float penalty = 0;
  std::shared_ptr<StepSums> sums;
};

class Trainer : public VariableHolder {
 public:
  /// The network is built and has values. `flags` are those of the model's compile. `compile` may
  /// be null for prediction alone.
  Trainer(NetworkPtr network, const CompileConfig* compile, const TrainableFlags& flags,
          TrainerOptions options);
  ~Trainer() override;

  /// Prepares steps of this kind for data of this binding, before the first of them. Does nothing
  /// when it is bound to the same already; the optimizer's state goes on otherwise.
  void bind(StepKind kind, const DataBinding& binding);
  std::vector<WantedColumn> wanted(StepKind kind);
  /// Compiles the programs for batches of `rows` ahead of their first step.
  void prepare_shapes(StepKind kind, int64_t rows) { ensure_shapes(program(kind), rows); }

  /// One step; returns the batch's loss with penalties. Batch columns as `wanted(kind)` says.
  double train_step(const Batch& batch, MetricTotals& totals);
  /// The same in two parts. Where devices have a memory of their own (runs_ahead), steps may begin
  /// before the ones before them are finished; they are finished in order.
  void start_train_step(const Batch& batch, StartedStep& step);
  double finish_train_step(const StartedStep& step, MetricTotals& totals);
  bool runs_ahead() const { return resident_ != nullptr; }
  double test_step(const Batch& batch, MetricTotals& totals);
  /// Writes [rows, ...] of each output.
  void predict_step(const Batch& batch, std::span<void* const> outputs);
  std::vector<TensorType> output_row_types();

  /// Names as Keras reports them, "loss" first, and their values.
  std::vector<std::pair<std::string, double>> logs(StepKind kind, const MetricTotals& totals);

  int64_t iterations() const { return iterations_; }
  /// As the optimizer has it, a float.
  double learning_rate() const;
  /// Overrides the configuration's number until it is set again. Throws when a schedule rules.
  void set_learning_rate(double value);

  /// Copies weights that it changed into the network's variables, as files and get_weights see
  /// them. Weights changed elsewhere are taken up before the next step.
  void settle() override;
  OptimizerState optimizer_state();
  /// Throws InvalidArgument naming what does not fit; nothing is changed then.
  void load_optimizer_state(const OptimizerState& state);
  /// The optimizer's averages become the weights (use_ema), as at the end of Keras's fit.
  void finalize_averages();

  const TrainerOptions& options() const { return options_; }
  int64_t tower_size() const { return tower_size_; }
  int device_count() const { return team_->size(); }
  std::shared_ptr<const Backend> backend() const { return backend_; }
  /// Each kernel of a training tower run alone, all devices at once; what the step reaches at best.
  /// Weights and optimizer state stay as they are.
  std::vector<KernelTime> time_kernels(const Batch& batch, int repeats);
  PhaseTimes times() const;
  void reset_times();
  size_t working_bytes() const;
  /// What the bits of training depend on besides model, data and arguments: versions, processor,
  /// tower size, kernels, and a digest of one training tower on fixed inputs. Compiles the
  /// training step when that was not done yet. Weights and state stay as they are.
  Json numerics_signature();
  /// A line for the user when devices idle: how many, and which tower size would use them; else "".
  std::string idle_devices() const;
  /// A line for the user when batches are normalised by the tower: how, and both remedies; else "".
  std::string normalised_by_tower() const;

 private:
  struct Program;  // one step kind: data binding, layout, runner
  TowerGraphSpec graph_spec(StepKind kind, const DataBinding& binding) const;
  Program& program(StepKind kind);
  /// What computes in host memory, where sums arrive and weights are updated.
  const Backend& host_backend() const { return host_backend_ ? *host_backend_ : *backend_; }
  int64_t choose_tower_size(const Program& program, const Graph& probe) const;
  void ensure_shapes(Program& program, int64_t rows);
  StepData prepare(Program& program, const Batch& batch);
  uint64_t& seen_version(Program& program);
  void lose_state(int64_t step, const char* why);
  void require_state() const;
  void run(Program& program, const Batch& batch, std::span<void* const> outputs, bool updates);
  std::unique_ptr<StepRunner> make_runner(StepPlan plan);
  std::shared_ptr<TowerProgram> compile(const StepRunner& runner, TowerGraph tower, int64_t rows,
                                        const char* name);
  void make_update(const StepLayout& layout, StepPlan& plan);
  /// Brings weights that devices have changed in their own memory back into the variable space.
  void fetch_variables();
  /// Takes up what other models or callers have changed.
  void pull_variables();
  void fill_scalars(Program& program, const Batch& batch);
  void compute_denominators(Program& program, const Batch& batch);
  double collect(Program& program, const StartedStep& step, MetricTotals& totals);
  void check_labels(const Program& program, const Batch& batch) const;

  NetworkPtr network_;
  std::optional<CompileConfig> compile_;
  TrainerOptions options_;
  std::shared_ptr<Backend> backend_;
  std::unique_ptr<Backend> host_backend_;  // only where devices have a memory of their own
  std::unique_ptr<DeviceTeam> team_;
  VariableSpace variables_;
  TrainableFlags flags_;
  std::vector<VariablePtr> trainable_;
  int64_t tower_size_ = 0;
  std::unique_ptr<Program> programs_[3];
  std::unique_ptr<Update> update_;
  ShardedUpdate* sharded_update_ = nullptr;    // update_ in host memory, or
  ResidentPhases* resident_update_ = nullptr;  // update_ in the devices' own
  // Only where devices have a memory of their own:
  std::unique_ptr<ResidentVariables> resident_;
  uint64_t resident_version_ = 0;  // of the variable space, as last copied to the devices
  bool resident_is_newer_ = false;
  /// What weights and optimizer state were lost to: a step that failed in the middle of its update.
  std::string loss_of_state_;
  std::optional<OptimizerState> pending_state_;  // until the first training binding
  AlignedBytes scalars_;
  int64_t iterations_ = 0;
  std::optional<double> learning_rate_;
  std::unique_ptr<WeightPenalties> penalties_;
  StartedStep step_;  // of train_step and test_step, which finish it at once
};

}  // namespace lockstep
