#include "lockstep/train/update_program.h"

#include <algorithm>
#include <cstring>
#include <tuple>

#include "lockstep/towers/tree_reduce.h"
#include "lockstep/train/device_scratch.h"
#include "lockstep/train/update_graphs.h"

namespace lockstep {
/// At most kUpdateBlock elements of one variable.
struct UpdateProgram::Block {
  int variable;
  int64_t sums_offset, space_offset;
  int64_t size;
};

struct UpdateProgram::VariablePlan {
  const Variable* variable;
  int first_block, last_block;  // [first, last)
  bool is_updated;              // a gradient or a penalty reaches it
  bool is_whole;                // never cut between devices
};

/// Executables by block size; made once.
struct UpdateProgram::Programs {
  std::map<int64_t, std::shared_ptr<Executable>> squares, accumulate, average_accumulated, apply,
      average;
  std::map<std::tuple<double, double, int64_t>, std::shared_ptr<Executable>> penalties;
  std::map<std::pair<double, int64_t>, std::shared_ptr<Executable>> moving;
  std::vector<std::shared_ptr<Executable>> constraints;  // of each variable, or null
};

UpdateProgram::UpdateProgram(const Backend& backend, int devices, const StepLayout& layout,
                             OptimizerPtr optimizer, VariableSpace& variables)
    : backend_(backend),
      layout_(layout),
      optimizer_(std::move(optimizer)),
      variables_(variables),
      tensors_(layout, *optimizer_),
      programs_(std::make_unique<Programs>()) {
  for (size_t v = 0; v < layout.trainable.size(); ++v) {
    const Variable& variable = *layout.trainable[v];
    VariablePlan plan{&variable, static_cast<int>(blocks_.size()), 0,
                      layout.has_gradient[v] || variable.regularizer != nullptr,
                      variable.constraint != nullptr};
    for (int64_t begin = 0; begin < variable.size(); begin += kUpdateBlock)
      blocks_.push_back({static_cast<int>(v), layout.gradient_offsets[v] + begin,
                         variables.offset(variable) + begin,
                         std::min(kUpdateBlock, variable.size() - begin)});
    plan.last_block = static_cast<int>(blocks_.size());
    plans_.push_back(plan);
  }
  squares_.resize(blocks_.size());
  penalties_.resize(blocks_.size());
  variable_penalties_.resize(plans_.size());
  for (int device = 0; device < devices; ++device)
    scratch_.push_back(std::make_unique<DeviceScratch>());
  for (auto& scratch : scratch_) scratch->squared_norms.resize(plans_.size());
  cut_shards(devices);
  compile();
}

UpdateProgram::~UpdateProgram() = default;

void UpdateProgram::cut_shards(int devices) {
  const int count = static_cast<int>(blocks_.size());
  int first = 0;
  for (int device = 0; device < devices; ++device) {
    const int64_t goal = layout_.gradients_size * (device + 1) / devices;
    int last = first;
    const auto may_cut_before = [&](int block) {
      if (block == 0 || block == count) return true;
      const bool same = blocks_[block].variable == blocks_[block - 1].variable;
      return !same || !plans_[blocks_[block].variable].is_whole;
    };
    while (last < count && (blocks_[last].sums_offset < goal || !may_cut_before(last))) ++last;
    if (device + 1 == devices) last = count;
    const auto border = [&](int block) {
      return block < count ? blocks_[block].sums_offset : layout_.gradients_size;
    };
    device_blocks_.emplace_back(first, last);
    shards_.push_back({border(first), device + 1 == devices ? layout_.sums_size : border(last)});
    first = last;
  }
}

void UpdateProgram::compile() {
  const OptimizerConfig& config = optimizer_->common;
  const auto make = [&](auto& programs, auto key, auto&& graph, const char* name) {
    auto& program = programs[key];
    if (!program) program = backend_.compile(*graph(), {name});
  };
  for (const Block& block : blocks_) {
    const VariablePlan& plan = plans_[block.variable];
    const int64_t n = block.size;
    if (config.use_ema)
      make(
          programs_->average, n, [&] { return average_graph(config.ema_momentum, n); }, "average");
    if (!plan.is_updated) continue;
    make(
        programs_->apply, n, [&] { return apply_graph(*optimizer_, n); }, "update");
    if (needs_norms())
      make(
          programs_->squares, n, [&] { return square_sum_graph(n); }, "norm");
    if (const auto steps = config.gradient_accumulation_steps) {
      make(
          programs_->accumulate, n, [&] { return accumulate_graph(1, n); }, "accumulate");
      make(
          programs_->average_accumulated, n, [&] { return accumulate_graph(*steps, n); },
          "accumulate");
    }
    if (const auto& regularizer = plan.variable->regularizer)
      make(
          programs_->penalties, std::tuple(regularizer->l1, regularizer->l2, n),
          [&] { return penalty_graph(*regularizer, n); }, "penalty");
  }
  for (const VariablePlan& plan : plans_) {
    const auto& constraint = plan.variable->constraint;
    programs_->constraints.push_back(
        constraint
            ? backend_.compile(*constraint_graph(*constraint, plan.variable->shape), {"constraint"})
            : nullptr);
  }
  for (const MovingAverage& moving : layout_.moving_averages) {
    const int64_t n = moving.variable->size();
    make(
        programs_->moving, std::pair(moving.momentum, n),
        [&] { return moving_average_graph(moving.momentum, n); }, "moving average");
  }
}

void UpdateProgram::set_scalars(const UpdateScalars& scalars) {
  scalars_ = scalars;
}

bool UpdateProgram::needs_norms() const {
  const ClipMode mode = clip_mode(optimizer_->common);
  return mode == ClipMode::kNorm || mode == ClipMode::kGlobalNorm;
}

bool UpdateProgram::is_update_step() const {
  const auto steps = optimizer_->common.gradient_accumulation_steps;
  return !steps || (scalars_.iterations + 1) % *steps == 0;
}

int UpdateProgram::phase_count() const {
  return needs_norms() ? 2 : 1;
}

void UpdateProgram::run_phase(int phase, int device, float* sums) {
  const auto [first, last] = device_blocks_[device];
  if (phase == 0)
    for (int block = first; block < last; ++block) prepare_block(device, block, sums);
  if (phase + 1 == phase_count()) {
    if (needs_norms()) compute_norms(device);
    for (int block = first; block < last; ++block) apply_block(device, blocks_[block], sums);
    for (int block = first; block < last; ++block)
      if (blocks_[block].sums_offset == layout_.gradient_offsets[blocks_[block].variable])
        constrain(device, blocks_[block].variable);
  }
  if (phase == 0 && device + 1 == static_cast<int>(shards_.size()))
    update_moving_averages(device, sums);
}

void UpdateProgram::prepare_block(int device, int index, float* sums) {
  const Block& block = blocks_[index];
  const VariablePlan& plan = plans_[block.variable];
  if (!plan.is_updated) return;
  DeviceScratch& scratch = *scratch_[device];
  float* gradient = sums + block.sums_offset;
  if (const auto& regularizer = plan.variable->regularizer) {
    const auto& program = programs_->penalties.at({regularizer->l1, regularizer->l2, block.size});
    scratch.run(*program, {variables_.data() + block.space_offset, gradient}, {},
                {gradient, &penalties_[index]}, {});
  }
  if (optimizer_->common.gradient_accumulation_steps) {
    float* accumulator = reinterpret_cast<float*>(tensors_.accumulators.data()) + block.sums_offset;
    if (!is_update_step()) {
      scratch.run(*programs_->accumulate.at(block.size), {gradient, accumulator}, {}, {accumulator},
                  {});
      return;
    }
    scratch.run(*programs_->average_accumulated.at(block.size), {gradient, accumulator}, {},
                {gradient}, {});
    std::memset(accumulator, 0, static_cast<size_t>(block.size) * sizeof(float));
  }
  if (needs_norms())
    scratch.run(*programs_->squares.at(block.size), {gradient}, {}, {&squares_[index]}, {});
}

/// Sums of squares of the variables this device updates, or of all gradients together.
void UpdateProgram::compute_norms(int device) {
  DeviceScratch& scratch = *scratch_[device];
  const auto norm_of = [&](const VariablePlan& plan) {
    return tree_sum(
        std::span(squares_).subspan(plan.first_block, plan.last_block - plan.first_block));
  };
  if (clip_mode(optimizer_->common) == ClipMode::kNorm) {
    const auto [first, last] = device_blocks_[device];
    for (int block = first; block < last; ++block) {
      const int variable = blocks_[block].variable;
      if (block == first || variable != blocks_[block - 1].variable)
        scratch.squared_norms[variable] = norm_of(plans_[variable]);
    }
    return;
  }
  size_t updated = 0;
  for (const VariablePlan& plan : plans_)
    if (plan.is_updated) scratch.squared_norms[updated++] = norm_of(plan);
  const float total = tree_sum(std::span(scratch.squared_norms).first(updated));
  std::fill(scratch.squared_norms.begin(), scratch.squared_norms.end(), total);
}

void UpdateProgram::apply_block(int device, const Block& block, float* sums) {
  const VariablePlan& plan = plans_[block.variable];
  DeviceScratch& scratch = *scratch_[device];
  float* weight = variables_.data() + block.space_offset;
  if (plan.is_updated && is_update_step()) {
    const float norm = needs_norms() ? scratch.squared_norms[block.variable] : 0.0f;
    const auto steps = optimizer_->common.gradient_accumulation_steps.value_or(1);
    const float updates = static_cast<float>(scalars_.iterations / steps + 1);
    scratch.slots.clear();
    for (AlignedBytes& slot : tensors_.slots)
      scratch.slots.push_back(reinterpret_cast<float*>(slot.data()) + block.sums_offset);
    scratch.run(*programs_->apply.at(block.size),
                {weight, sums + block.sums_offset, &scalars_.learning_rate, &updates, &norm},
                scratch.slots, {weight}, scratch.slots);
  }
  if (!optimizer_->common.use_ema) return;
  const int64_t iterations =
      scalars_.iterations / optimizer_->common.gradient_accumulation_steps.value_or(1);
  const float updates = static_cast<float>(iterations);
  float* average = reinterpret_cast<float*>(tensors_.averages.data()) + block.sums_offset;
  scratch.run(*programs_->average.at(block.size), {weight, average, &updates}, {}, {average}, {});
  const auto frequency = optimizer_->common.ema_overwrite_frequency;
  if (frequency && (iterations + 1) % *frequency == 0)
    std::memcpy(weight, average, static_cast<size_t>(block.size) * sizeof(float));
}

void UpdateProgram::constrain(int device, int variable) {
  const auto& program = programs_->constraints[variable];
  if (!program || !plans_[variable].is_updated) return;
  float* weight = variables_.data() + variables_.offset(*plans_[variable].variable);
  scratch_[device]->run(*program, {weight}, {}, {weight}, {});
}

void UpdateProgram::update_moving_averages(int device, const float* sums) {
  for (const MovingAverage& moving : layout_.moving_averages) {
    float* value = variables_.data() + variables_.offset(*moving.variable);
    const float count = scalars_.global_rows * static_cast<float>(moving.positions_per_row);
    const auto& program = programs_->moving.at({moving.momentum, moving.variable->size()});
    scratch_[device]->run(*program, {value, sums + moving.sum_offset, &count}, {}, {value}, {});
  }
}

float UpdateProgram::penalty() {
  size_t regularized = 0;
  for (const VariablePlan& plan : plans_)
    if (plan.variable->regularizer)
      variable_penalties_[regularized++] = tree_sum(
          std::span(penalties_).subspan(plan.first_block, plan.last_block - plan.first_block));
  return tree_sum(std::span(variable_penalties_).first(regularized));
}

void UpdateProgram::apply_averages() {
  if (!optimizer_->common.use_ema) return;
  for (const Block& block : blocks_)
    std::memcpy(variables_.data() + block.space_offset,
                reinterpret_cast<const float*>(tensors_.averages.data()) + block.sums_offset,
                static_cast<size_t>(block.size) * sizeof(float));
  variables_.touch();
}

}  // namespace lockstep
