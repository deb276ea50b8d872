#include "lockstep/train/trainer.h"

#include <algorithm>
#include <cstring>
#include <future>

#include "lockstep/base/activity.h"
#include "lockstep/ir/flops.h"
#include "lockstep/tensor/philox.h"
#include "lockstep/towers/resident_runner.h"
#include "lockstep/towers/tower_runner.h"
#include "lockstep/train/compile_tower.h"
#include "lockstep/train/resident_update.h"
#include "lockstep/train/trainer_program.h"
#include "lockstep/train/update_program.h"

namespace lockstep {
namespace {

// A first graph of a few rows tells the layout and, for an automatic tower size, the work of a row.
constexpr int64_t kProbeRows = 2;

const char* name_of(StepKind kind) {
  switch (kind) {
    case StepKind::kTrain:
      return "train";
    case StepKind::kTest:
      return "evaluate";
    case StepKind::kPredict:
      return "predict";
  }
  return "";
}

std::optional<int64_t> ignored_class(const Loss& loss) {
  const Json config = loss.config();
  if (!config.contains("ignore_class") || !config["ignore_class"].is_number()) return std::nullopt;
  return config["ignore_class"].get<int64_t>();
}

std::vector<Shard> even_shards(int64_t size, int devices) {
  std::vector<Shard> shards;
  for (int device = 0; device < devices; ++device) {
    const int64_t begin = round_up_16(size * device / devices),
                  end = round_up_16(size * (device + 1) / devices);
    shards.push_back({std::min(begin, size), std::min(end, size)});
  }
  return shards;
}

}  // namespace

// -- programs

Trainer::Trainer(NetworkPtr network, const CompileConfig* compile, const TrainableFlags& flags,
                 TrainerOptions options)
    : network_(std::move(network)),
      options_(std::move(options)),
      variables_(network_->all_variables()),
      flags_(flags),
      trainable_(flags_.variables(*network_)),
      scalars_(ScalarBlock::kSize) {
  if (options_.batch_size < 1)
    invalid_argument("batch_size", "must be >= 1: {}", options_.batch_size);
  if (options_.tower_size < 0)
    invalid_argument("tower_size", "must be >= 1, or 0 for auto: {}", options_.tower_size);
  if (compile != nullptr) compile_ = *compile;
  DeviceSpec spec;
  if (options_.backend != nullptr) {
    backend_ = options_.backend;
    spec = {std::string(backend_->kind()), options_.device_count, {}};
  } else {
    spec = parse_devices(options_.devices);
    backend_ = make_backend(spec);
  }
  if (!options_.program_folder.empty()) backend_->keep_programs(options_.program_folder);
  if (!is_host_kind(spec.kind)) host_backend_ = make_backend({.kind = "cpu"});
  penalties_ = std::make_unique<WeightPenalties>(host_backend());
  const std::vector<int> cores = is_host_kind(spec.kind) ? spec.indices : std::vector<int>();
  team_ = std::make_unique<DeviceTeam>(*backend_, spec.count, cores);
  if (const DeviceMemory* memory = backend_->device_memory()) {
    std::vector<ResidentVariables::Entry> entries;
    for (const VariablePtr& variable : variables_.variables())
      entries.push_back({variables_.offset(*variable), variable->shape});
    resident_ = std::make_unique<ResidentVariables>(*memory, spec.count, std::move(entries));
  }
}

/// Weights that other models share with this one stay what they became.
Trainer::~Trainer() {
  try {
    settle();
  } catch (const std::exception&) {
    // A device that died took them along; whoever trained on it was told.
    for (const VariablePtr& variable : variables_.variables())
      if (variable->holder == this) variable->holder = nullptr;
  }
}

TowerGraphSpec Trainer::graph_spec(StepKind kind, const DataBinding& binding) const {
  return {kind,
          network_.get(),
          compile_ ? &*compile_ : nullptr,
          &variables_,
          &flags_,
          trainable_,
          binding.inputs,
          binding.targets,
          binding.sample_weights,
          options_.global_batchnorm};
}

Trainer::Program& Trainer::program(StepKind kind) {
  LOCKSTEP_CHECK(programs_[static_cast<size_t>(kind)] != nullptr);
  return *programs_[static_cast<size_t>(kind)];
}

void Trainer::bind(StepKind kind, const DataBinding& binding) {
  auto& bound = programs_[static_cast<size_t>(kind)];
  if (bound && bound->binding == binding) return;
  pull_variables();  // averages of weights begin with these
  if (kind != StepKind::kPredict && !compile_)
    invalid_argument("model", "must be compiled to {}", name_of(kind));
  if (kind == StepKind::kTrain && !compile_->optimizer)
    invalid_argument("model", "must be compiled with an optimizer to train");
  auto program = std::make_unique<Program>();
  program->kind = kind;
  program->binding = binding;
  TowerGraph probe = build_tower_graph(graph_spec(kind, binding), kProbeRows);
  program->layout = std::move(probe.layout);
  StepLayout& layout = program->layout;
  if (tower_size_ == 0) tower_size_ = choose_tower_size(*program, *probe.graph);
  for (const LossEntry& loss : layout.losses) {
    if (loss.loss->target_dtype() != DType::kS32) continue;
    const int64_t classes = loss.prediction_shape.rank() == 0 ? 1 : loss.prediction_shape.back();
    for (size_t c = 0; c < layout.columns.size(); ++c)
      if (layout.columns[c].role == BatchColumn::Role::kTarget &&
          layout.columns[c].index == loss.output)
        program->labels.push_back({c, classes, ignored_class(*loss.loss)});
  }
  StepPlan plan;
  plan.sums_size = layout.sums_size;
  if (kind == StepKind::kTrain) {
    for (size_t i = 0; i < trainable_.size(); ++i)
      if (trainable_[i]->regularizer) layout.has_gradient[i] = true;
    make_update(layout, plan);
  } else {
    plan.shards = even_shards(layout.sums_size, team_->size());
  }
  for (const BatchColumn& column : layout.columns)
    plan.column_row_bytes.push_back(column.row_type.size_bytes());
  for (const TensorType& type : layout.output_row_types)
    plan.output_row_bytes.push_back(type.size_bytes());
  const bool needs_denominators = std::any_of(
      layout.losses.begin(), layout.losses.end(),
      [](const LossEntry& loss) { return loss.denominator == DenominatorKind::kDataDependent; });
  if (needs_denominators) {
    StepPlan denominators;
    denominators.sums_size = round_up_16(static_cast<int64_t>(layout.losses.size()));
    denominators.shards = even_shards(denominators.sums_size, team_->size());
    denominators.column_row_bytes = plan.column_row_bytes;
    program->denominators = make_runner(std::move(denominators));
  }
  program->runner = make_runner(std::move(plan));
  program->denominator_values.resize(layout.losses.size());
  program->output_losses.resize(layout.losses.size());
  bound = std::move(program);
}

/// A new update takes over the optimizer's state from the one before it, or from a file.
void Trainer::make_update(const StepLayout& layout, StepPlan& plan) {
  if (update_) pending_state_ = optimizer_state();
  update_.reset();
  sharded_update_ = nullptr;
  resident_update_ = nullptr;
  std::unique_ptr<Update> update;
  if (const DeviceMemory* memory = backend_->device_memory()) {
    auto resident = std::make_unique<ResidentUpdate>(*memory, team_->size(), layout,
                                                     compile_->optimizer, variables_, *resident_);
    plan.pieces = cut_pieces(layout, team_->size());
    plan.gradients_size = layout.gradients_size;
    resident_update_ = resident.get();
    update = std::move(resident);
  } else {
    auto sharded = std::make_unique<UpdateProgram>(*backend_, team_->size(), layout,
                                                   compile_->optimizer, variables_);
    plan.shards = sharded->shards();
    sharded_update_ = sharded.get();
    update = std::move(sharded);
  }
  if (pending_state_) update->load(pending_state_->variables);
  pending_state_.reset();
  update_ = std::move(update);
}

std::unique_ptr<StepRunner> Trainer::make_runner(StepPlan plan) {
  RunnerOptions options{tower_size_, options_.placement, options_.before_tower};
  if (const DeviceMemory* memory = backend_->device_memory())
    return std::make_unique<ResidentRunner>(*team_, *memory, std::move(plan), std::move(options));
  return std::make_unique<TowerRunner>(*team_, std::move(plan), std::move(options));
}

std::shared_ptr<TowerProgram> Trainer::compile(const StepRunner& runner, TowerGraph tower,
                                               int64_t rows, const char* name) {
  if (const DeviceMemory* memory = backend_->device_memory())
    return compile_resident_tower(*memory, std::move(tower), runner.plan(), rows, name);
  return compile_tower(*backend_, tower, rows, name);
}

void Trainer::fetch_variables() {
  require_state();
  if (!resident_is_newer_) return;
  resident_->download(variables_.data());
  resident_is_newer_ = false;
  variables_.touch();  // for those who keep what they made of the weights
  resident_version_ = variables_.version();
}

/// The size does not depend on which step comes first: for a compiled model the train step decides.
int64_t Trainer::choose_tower_size(const Program& program, const Graph& probe) const {
  if (options_.tower_size > 0) return options_.tower_size;
  int64_t parameters = 0;
  for (const VariablePtr& variable : trainable_) parameters += variable->size();
  double flops = contraction_flops(probe);
  const auto& targets = program.binding.targets;
  const bool has_targets = std::any_of(targets.begin(), targets.end(),
                                       [](const auto& target) { return target.has_value(); });
  if (program.kind != StepKind::kTrain && compile_ && compile_->optimizer && has_targets)
    flops = contraction_flops(
        *build_tower_graph(graph_spec(StepKind::kTrain, program.binding), kProbeRows).graph);
  return auto_tower_size(options_.batch_size, backend_->kind(), flops / kProbeRows, parameters);
}

/// Compiles the programs of tower shapes met for the first time, side by side.
void Trainer::ensure_shapes(Program& program, int64_t rows) {
  auto& prepared = program.prepared;
  if (std::find(prepared.begin(), prepared.end(), rows) != prepared.end()) return;
  std::vector<std::pair<StepRunner*, std::future<std::shared_ptr<TowerProgram>>>> compiling;
  for (int64_t shape : program.runner->tower_shapes(rows)) {
    if (program.runner->has_program(shape)) continue;
    compiling.emplace_back(
        program.runner.get(), std::async(std::launch::async, [&, shape] {
          return compile(*program.runner,
                         build_tower_graph(graph_spec(program.kind, program.binding), shape), shape,
                         name_of(program.kind));
        }));
    if (program.denominators)
      compiling.emplace_back(program.denominators.get(), std::async(std::launch::async, [&, shape] {
                               return compile(*program.denominators,
                                              build_denominator_graph(program.layout, shape), shape,
                                              "denominators");
                             }));
  }
  for (auto& [runner, result] : compiling) runner->add_program(result.get());
  prepared.push_back(rows);
}

std::vector<WantedColumn> Trainer::wanted(StepKind kind) {
  const Program& bound = program(kind);
  return wanted_columns(bound.binding, bound.layout);
}

std::vector<TensorType> Trainer::output_row_types() {
  return program(StepKind::kPredict).layout.output_row_types;
}

// -- steps

void Trainer::check_labels(const Program& program, const Batch& batch) const {
  for (const Program::Labels& range : program.labels) {
    const BatchColumn& column = program.layout.columns[range.column];
    const auto* labels = static_cast<const int32_t*>(batch.columns[range.column]);
    for (int64_t i = 0; i < batch.rows * column.row_type.size(); ++i)
      if ((labels[i] < 0 || labels[i] >= range.classes) && labels[i] != range.ignored)
        invalid_argument("y/" + column.name, "labels must be in [0, {}): {} in row {} of batch {}",
                         range.classes, labels[i], i / std::max<int64_t>(1, column.row_type.size()),
                         batch.index);
  }
}

void Trainer::compute_denominators(Program& program, const Batch& batch) {
  const StepLayout& layout = program.layout;
  if (program.denominators) {
    StepData data;
    data.rows = batch.rows;
    data.columns = batch.columns;
    data.scalars = scalars_.data();
    data.variables = variables_.data();
    data.variables_changed = false;
    data.resident = resident_.get();
    program.denominators->run(data);
  }
  size_t next = 0;
  for (size_t k = 0; k < layout.losses.size(); ++k) {
    const LossEntry& loss = layout.losses[k];
    switch (loss.denominator) {
      case DenominatorKind::kValues:
        program.denominator_values[k] = static_cast<double>(batch.rows * loss.values_per_row);
        break;
      case DenominatorKind::kOne:
        program.denominator_values[k] = 1;
        break;
      case DenominatorKind::kDataDependent:
        program.denominator_values[k] =
            *program.denominators->sums()->from(static_cast<int64_t>(next++));
        break;
    }
  }
}

void Trainer::fill_scalars(Program& program, const Batch& batch) {
  const auto put = [&](int64_t offset, auto value) {
    std::memcpy(scalars_.data() + offset, &value, sizeof value);
  };
  put(ScalarBlock::kTrainStep, static_cast<uint32_t>(iterations_));
  put(ScalarBlock::kGlobalRows, static_cast<float>(batch.rows));
  put(ScalarBlock::kInverseRows, 1.0f / static_cast<float>(batch.rows));
  const StepLayout& layout = program.layout;
  for (size_t i = 0; i < layout.key_seeds.size(); ++i) {
    const uint64_t seed =
        layout.key_seeds[i] ? static_cast<uint64_t>(*layout.key_seeds[i]) : options_.seed;
    put(ScalarBlock::kKeys + 8 * static_cast<int64_t>(i),
        philox_key(seed, RandomPurpose::kLayer, network_->name()));
  }
  for (size_t k = 0; k < layout.losses.size(); ++k) {
    const double d = program.denominator_values[k];
    put(layout.losses[k].scalar_offset,
        d == 0 ? 0.0f : static_cast<float>(layout.losses[k].weight / d));
  }
}

StepData Trainer::prepare(Program& program, const Batch& batch) {
  pull_variables();
  ensure_shapes(program, batch.rows);
  check_labels(program, batch);
  compute_denominators(program, batch);
  fill_scalars(program, batch);
  StepData data;
  data.rows = batch.rows;
  data.columns = batch.columns;
  data.scalars = scalars_.data();
  data.variables = variables_.data();
  data.variables_changed = seen_version(program) != variables_.version();
  data.resident = resident_.get();
  return data;
}

void Trainer::run(Program& program, const Batch& batch, std::span<void* const> outputs,
                  bool updates) {
  require_state();
  StepData data = prepare(program, batch);
  data.row_outputs = outputs;
  if (updates) {
    data.update = sharded_update_;
    data.resident_update = resident_update_;
  }
  // A step that fails may have copied weights to some devices only.
  if (data.variables_changed) seen_version(program) = 0;
  const uint64_t version = variables_.version();
  try {
    program.runner->run(data);
  } catch (const std::exception& error) {
    if (update_ && !update_->is_whole()) lose_state(iterations_, error.what());
    throw;
  }
  seen_version(program) = version;
}

/// The first loss is the one to tell of. The lost weights stay this trainer's: whoever asks for
/// them asks here.
void Trainer::lose_state(int64_t step, const char* why) {
  if (loss_of_state_.empty())
    loss_of_state_ = fmt::format(
        "training step {} failed in the middle of its update, and with it weights and "
        "optimizer state are lost: {}. A saved model or a checkpoint has them",
        step, why);
  for (const VariablePtr& variable : trainable_) variables_.claim(*variable, *this);
}

/// Whoever asks for weights or optimizer state that are no more hears why.
void Trainer::require_state() const {
  if (!loss_of_state_.empty()) fail(ErrorCode::kInternal, network_->name(), "{}", loss_of_state_);
}

/// Of the weights that steps of this kind use: as last prepared for the kernels, or as last copied
/// to devices with a memory of their own, which share one copy among all kinds of steps.
uint64_t& Trainer::seen_version(Program& program) {
  return resident_ ? resident_version_ : program.seen_version;
}

std::vector<KernelTime> Trainer::time_kernels(const Batch& batch, int repeats) {
  Program& train = program(StepKind::kTrain);
  return train.runner->time_kernels(prepare(train, batch), repeats);
}

/// The step's loss: each term's tree sum divided once, weighted, plus penalties; and the metrics'
/// sums.
double Trainer::collect(Program& program, const StartedStep& step, MetricTotals& totals) {
  const StepLayout& layout = program.layout;
  StepSums& sums = *step.sums;
  double loss = step.penalty;
  for (size_t k = 0; k < layout.losses.size(); ++k) {
    const double d = step.denominators[k];
    program.output_losses[k] =
        d == 0 ? 0 : static_cast<double>(*sums.from(layout.losses[k].sum_offset)) / d;
    loss += layout.losses[k].weight * program.output_losses[k];
  }
  for (int64_t offset : layout.penalty_offsets)
    loss += static_cast<double>(*sums.from(offset)) / static_cast<double>(step.rows);
  totals.add(loss, layout.losses, program.output_losses, layout.metrics, sums, step.rows);
  return loss;
}

double Trainer::train_step(const Batch& batch, MetricTotals& totals) {
  start_train_step(batch, step_);
  return finish_train_step(step_, totals);
}

void Trainer::start_train_step(const Batch& batch, StartedStep& step) {
  Program& train = program(StepKind::kTrain);
  update_->set_scalars(
      {static_cast<float>(learning_rate()), iterations_, static_cast<float>(batch.rows)});
  const Activity activity("training step {}", iterations_);
  run(train, batch, {}, true);
  if (resident_)
    resident_is_newer_ = true;
  else
    variables_.touch();
  for (const VariablePtr& variable : trainable_) variables_.claim(*variable, *this);
  for (const MovingAverage& average : train.layout.moving_averages)
    variables_.claim(*average.variable, *this);
  step.number = iterations_++;
  step.rows = batch.rows;
  step.denominators = train.denominator_values;
  step.penalty = update_->penalty();
  step.sums = train.runner->sums();
}

double Trainer::finish_train_step(const StartedStep& step, MetricTotals& totals) {
  const Activity activity("training step {}", step.number);
  try {
    return collect(program(StepKind::kTrain), step, totals);
  } catch (const std::exception& error) {
    lose_state(step.number, error.what());
    throw;
  }
}

double Trainer::test_step(const Batch& batch, MetricTotals& totals) {
  Program& test = program(StepKind::kTest);
  run(test, batch, {}, false);
  if (penalties_->applies_to(trainable_)) fetch_variables();
  step_.rows = batch.rows;
  step_.denominators = test.denominator_values;
  step_.penalty = penalties_->total(trainable_, variables_);
  step_.sums = test.runner->sums();
  return collect(test, step_, totals);
}

void Trainer::predict_step(const Batch& batch, std::span<void* const> outputs) {
  run(program(StepKind::kPredict), batch, outputs, false);
}

std::vector<std::pair<std::string, double>> Trainer::logs(StepKind kind,
                                                          const MetricTotals& totals) {
  const StepLayout& layout = program(kind).layout;
  std::vector<std::pair<std::string, double>> logs{{"loss", totals.loss()}};
  const std::vector<std::string> outputs = network_->output_names();
  if (layout.losses.size() > 1)
    for (size_t k = 0; k < layout.losses.size(); ++k)
      logs.emplace_back(outputs[static_cast<size_t>(layout.losses[k].output)] + "_loss",
                        totals.output_loss(k));
  const std::vector<double> results = totals.results(layout.metrics);
  for (size_t i = 0; i < results.size(); ++i) logs.emplace_back(layout.metrics[i].name, results[i]);
  return logs;
}

// -- state

double Trainer::learning_rate() const {
  if (learning_rate_) return *learning_rate_;
  return static_cast<float>(compile_->optimizer->common.learning_rate.at(iterations_));
}

void Trainer::set_learning_rate(double value) {
  if (compile_->optimizer->common.learning_rate.schedule)
    invalid_argument("learning_rate", "cannot be set: the optimizer follows {}",
                     compile_->optimizer->common.learning_rate.schedule->class_name());
  learning_rate_ = static_cast<float>(value);
}

void Trainer::settle() {
  fetch_variables();
  variables_.settle(*this);
}

void Trainer::pull_variables() {
  if (!variables_.is_outdated()) return;
  fetch_variables();  // what the others have not changed
  variables_.pull();
}

OptimizerState Trainer::optimizer_state() {
  require_state();
  OptimizerState state;
  state.iterations = iterations_;
  if (!compile_->optimizer->common.learning_rate.schedule)
    state.learning_rate = static_cast<float>(learning_rate());
  if (update_)
    state.variables = update_->save();
  else if (pending_state_)
    state.variables = pending_state_->variables;
  return state;
}

void Trainer::load_optimizer_state(const OptimizerState& state) {
  // A file saved before the first step has no slots; they start afresh.
  if (update_ && !state.variables.empty()) update_->load(state.variables);
  if (!update_ && !state.variables.empty()) pending_state_ = state;
  iterations_ = state.iterations;
  if (state.learning_rate && !compile_->optimizer->common.learning_rate.schedule)
    learning_rate_ = *state.learning_rate;
}

void Trainer::finalize_averages() {
  fetch_variables();
  if (!update_) return;
  update_->apply_averages();
  for (const VariablePtr& variable : trainable_) variables_.claim(*variable, *this);
}

PhaseTimes Trainer::times() const {
  PhaseTimes total;
  for (const auto& program : programs_)
    if (program) total += program->runner->times();
  return total;
}

void Trainer::reset_times() {
  for (const auto& program : programs_)
    if (program) program->runner->reset_times();
}

size_t Trainer::working_bytes() const {
  size_t total = 0;
  for (const auto& program : programs_)
    if (program) total += program->runner->size_bytes();
  return total;
}

}  // namespace lockstep
