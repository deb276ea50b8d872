#include "lockstep/towers/tower_runner.h"

#include <algorithm>
#include <bit>
#include <unordered_map>

#include "lockstep/base/log.h"

namespace lockstep {
namespace {

int planned_buffers(int devices) {
  return devices + 2;
}

}  // namespace

struct TowerRunner::Cut {
  std::vector<TowerRows> towers;
  std::vector<const TowerProgram*> programs;  // of each tower
  std::vector<TowerRange> ranges;             // of each device
  std::vector<std::pair<const TowerProgram*, const SegmentPlan*>> prologues;
  std::vector<int> prologue_ends;  // running task count
};

/// Seconds of a segment's kernels, summed over towers.
struct TowerRunner::KernelSums {
  std::vector<KernelTime> kernels;
  int towers = 0;

  void add(const std::vector<KernelTime>& times, int more_towers) {
    if (more_towers == 0) return;
    towers += more_towers;
    if (kernels.empty()) {
      kernels = times;
      return;
    }
    for (size_t i = 0; i < times.size(); ++i) kernels[i].seconds += times[i].seconds;
  }
};

struct TowerRunner::DeviceState {
  std::unordered_map<const Executable*, std::unique_ptr<ExecutionContext>> contexts;
  std::vector<const void*> inputs;
  std::vector<void*> outputs;
  PhaseTimes times;
  std::vector<KernelSums> kernels;  // of each segment
};

struct TowerRunner::Kept {
  // [slot][tower]
  std::vector<std::vector<AlignedBytes>> values, exchanges;
};

class TowerRunner::Sums : public StepSums {
 public:
  explicit Sums(TowerRunner& runner) : runner_(runner) {}
  const float* from(int64_t offset) override { return runner_.data() + offset; }

 private:
  TowerRunner& runner_;
};

TowerRunner::TowerRunner(DeviceTeam& team, StepPlan plan, RunnerOptions options)
    : StepRunner(team, std::move(plan), std::move(options)),
      fold_(plan_.sums_size, plan_.sums_size > 0 ? planned_buffers(team.size()) : 0),
      sums_(std::make_shared<Sums>(*this)),
      kept_(std::make_unique<Kept>()) {
  for (int device = 0; device < team_.size(); ++device)
    devices_.push_back(std::make_unique<DeviceState>());
  job_ = [this](int device) { job(device); };
}

TowerRunner::~TowerRunner() = default;

TowerRunner::Cut& TowerRunner::cut(int64_t rows) {
  std::unique_ptr<Cut>& cut = cuts_[rows];
  if (cut) return *cut;
  cut = std::make_unique<Cut>();
  cut->towers = cut_towers(rows, options_.tower_size);
  cut->ranges = place_towers(static_cast<int>(cut->towers.size()), team_.size());
  int tasks = 0;
  for (const TowerRows& tower : cut->towers) {
    const TowerProgram* program = plan_.find(tower.rows);
    LOCKSTEP_CHECK(program != nullptr);
    const bool is_new =
        std::find(cut->programs.begin(), cut->programs.end(), program) == cut->programs.end();
    cut->programs.push_back(program);
    if (!is_new) continue;
    for (const SegmentPlan& segment : program->segments) {
      tasks += segment.executable->prologue_task_count();
      cut->prologues.emplace_back(program, &segment);
      cut->prologue_ends.push_back(tasks);
    }
  }
  const TowerProgram& first = *cut->programs[0];
  kept_->exchanges.resize(first.exchanged_types.size());
  for (size_t slot = 0; slot < first.exchanged_types.size(); ++slot)
    while (kept_->exchanges[slot].size() < cut->towers.size())
      kept_->exchanges[slot].emplace_back(first.exchanged_types[slot].size_bytes());
  kept_->values.resize(first.value_types.size());
  for (size_t slot = 0; slot < first.value_types.size(); ++slot)
    for (size_t tower = 0; tower < cut->towers.size(); ++tower) {
      auto& slots = kept_->values[slot];
      if (slots.size() <= tower) slots.emplace_back();
      const size_t bytes = cut->programs[tower]->value_types[slot].size_bytes();
      if (slots[tower].size() < bytes) slots[tower] = AlignedBytes(bytes);
    }
  return *cut;
}

ExecutionContext& TowerRunner::context(int device, const Executable& executable) {
  auto& context = devices_[device]->contexts[&executable];
  if (!context) context = executable.create_context(device);
  return *context;
}

void TowerRunner::run(const StepData& data) {
  data_ = &data;
  cut_ = &cut(data.rows);
  next_task_ = 0;
  next_tower_ = 0;
  fold_.begin(static_cast<int>(cut_->towers.size()));
  team_.run(job_);
  data_ = nullptr;
}

void TowerRunner::job(int device) {
  PhaseTimes& times = devices_[device]->times;
  const auto wait = [&] {
    Timed timed(&times.wait);
    team_.arrive();
  };
  if (data_->variables_changed && cut_->prologue_ends.back() > 0) {
    team_.guard(device, [&] { prologue(device); });
    wait();
  }
  const int segments = static_cast<int>(cut_->programs[0]->segments.size());
  for (int segment = 0; segment < segments; ++segment) {
    team_.guard(device, [&] { run_towers(device, segment); });
    wait();
    if (segment + 1 == segments) break;
    if (device == 0) team_.guard(device, [&] { exchange(segment); });
    wait();
  }
  if (plan_.sums_size == 0) return;
  if (device == 0) team_.guard(device, [&] { fold_.plan_remaining(); });
  wait();
  team_.guard(device, [&] { reduce(device); });
  if (data_->update == nullptr) return;
  for (int phase = 0; phase < data_->update->phase_count(); ++phase) {
    if (phase > 0) wait();
    team_.guard(device, [&] {
      Timed timed(&times.update);
      data_->update->run_phase(phase, device, fold_.data(fold_.result()));
    });
  }
}

void TowerRunner::prologue(int device) {
  Timed timed(&devices_[device]->times.prologue);
  std::vector<const void*>& inputs = devices_[device]->inputs;
  const int total = cut_->prologue_ends.back();
  for (int task = next_task_++; task < total; task = next_task_++) {
    const auto end = std::upper_bound(cut_->prologue_ends.begin(), cut_->prologue_ends.end(), task);
    const size_t which = static_cast<size_t>(end - cut_->prologue_ends.begin());
    const SegmentPlan& segment = *cut_->prologues[which].second;
    inputs.clear();
    for (const TowerInput& input : segment.inputs)
      inputs.push_back(
          input.source == TowerInput::Source::kVariable ? data_->variables + input.index : nullptr);
    const int first = which == 0 ? 0 : cut_->prologue_ends[which - 1];
    segment.executable->run_prologue_task(task - first, context(device, *segment.executable),
                                          inputs);
  }
}

void TowerRunner::run_towers(int device, int segment) {
  Timed timed(&devices_[device]->times.towers);
  const int towers = static_cast<int>(cut_->towers.size());
  if (options_.placement == Placement::kStatic) {
    const TowerRange range = cut_->ranges[device];
    for (int tower = range.first; tower < range.last; ++tower) run_tower(device, segment, tower);
    return;
  }
  // next_tower_ runs on through the segments; each has its own window of numbers.
  const int end = (segment + 1) * towers;
  for (int next = next_tower_.load(); next < end;) {
    if (!next_tower_.compare_exchange_weak(next, next + 1)) continue;
    run_tower(device, segment, next - segment * towers);
    next = next_tower_.load();
  }
}

void TowerRunner::run_tower(int device, int segment_index, int tower) {
  if (options_.before_tower) options_.before_tower(device, tower);
  DeviceState& state = *devices_[device];
  const TowerRows rows = cut_->towers[tower];
  const TowerProgram& program = *cut_->programs[tower];
  const SegmentPlan& segment = program.segments[segment_index];
  const bool is_last = segment_index + 1 == static_cast<int>(program.segments.size());
  const uint32_t first_row = static_cast<uint32_t>(rows.begin);

  TreeFold::Buffer sums;
  if (is_last && plan_.sums_size > 0) sums = fold_.acquire();

  state.inputs.clear();
  for (const TowerInput& input : segment.inputs) {
    const auto index = static_cast<size_t>(input.index);
    switch (input.source) {
      case TowerInput::Source::kVariable:
        state.inputs.push_back(data_->variables + index);
        break;
      case TowerInput::Source::kColumn:
        state.inputs.push_back(static_cast<const std::byte*>(data_->columns[index]) +
                               rows.begin * plan_.column_row_bytes[index]);
        break;
      case TowerInput::Source::kScalar:
        state.inputs.push_back(data_->scalars + index);
        break;
      case TowerInput::Source::kFirstRow:
        state.inputs.push_back(&first_row);
        break;
      case TowerInput::Source::kValue:
        state.inputs.push_back(kept_->values[index][tower].data());
        break;
      case TowerInput::Source::kExchanged:
        state.inputs.push_back(kept_->exchanges[index][0].data());
        break;
    }
  }
  state.outputs.clear();
  for (const TowerOutput& output : segment.outputs) {
    const auto index = static_cast<size_t>(output.index);
    switch (output.target) {
      case TowerOutput::Target::kSum:
        state.outputs.push_back(sums.data + index);
        break;
      case TowerOutput::Target::kRows:
        state.outputs.push_back(static_cast<std::byte*>(data_->row_outputs[index]) +
                                rows.begin * plan_.output_row_bytes[index]);
        break;
      case TowerOutput::Target::kValue:
        state.outputs.push_back(kept_->values[index][tower].data());
        break;
      case TowerOutput::Target::kExchange:
        state.outputs.push_back(kept_->exchanges[index][tower].data());
        break;
    }
  }
  ExecutionContext& working = context(device, *segment.executable);
  if (kernel_repeats_ == 0) {
    segment.executable->run(working, state.inputs, state.outputs);
  } else {
    const auto times =
        segment.executable->time_kernels(working, state.inputs, state.outputs, kernel_repeats_);
    if (&program == cut_->programs[0])
      state.kernels[static_cast<size_t>(segment_index)].add(times, 1);
  }
  if (sums.data == nullptr) return;
  const double start = monotonic_seconds();
  fold_.deposit(tower, sums.id);
  state.times.fold += monotonic_seconds() - start;
}

void TowerRunner::exchange(int segment) {
  // Level by level along the tree, into the left operand; the total ends in tower 0's slot.
  for (const TowerOutput& output : cut_->programs[0]->segments[segment].outputs) {
    if (output.target != TowerOutput::Target::kExchange) continue;
    auto& slot = kept_->exchanges[static_cast<size_t>(output.index)];
    const int64_t n = cut_->programs[0]->exchanged_types[static_cast<size_t>(output.index)].size();
    const size_t towers = cut_->towers.size();
    for (size_t stride = 1; stride < towers; stride *= 2)
      for (size_t left = 0; left + stride < towers; left += 2 * stride)
        add_into(reinterpret_cast<float*>(slot[left].data()),
                 reinterpret_cast<const float*>(slot[left + stride].data()), n);
  }
}

void TowerRunner::reduce(int device) {
  Timed timed(&devices_[device]->times.reduce);
  const Shard shard = plan_.shards[device];
  constexpr int64_t kBlock = 4096;  // stays in the first-level cache through all additions
  for (int64_t begin = shard.begin; begin < shard.end; begin += kBlock) {
    const int64_t n = std::min(kBlock, shard.end - begin);
    for (const TreeAdd& add : fold_.adds())
      add_into(fold_.data(add.to) + begin, fold_.data(add.from) + begin, n);
  }
}

std::vector<KernelTime> TowerRunner::time_kernels(StepData data, int repeats) {
  data.update = nullptr;
  const size_t segments = cut(data.rows).programs[0]->segments.size();
  for (auto& device : devices_) device->kernels.assign(segments, {});
  kernel_repeats_ = repeats;
  run(data);
  kernel_repeats_ = 0;
  std::vector<KernelTime> means;
  for (size_t segment = 0; segment < segments; ++segment) {
    KernelSums sums;
    for (const auto& device : devices_)
      sums.add(device->kernels[segment].kernels, device->kernels[segment].towers);
    for (KernelTime& kernel : sums.kernels) {
      kernel.seconds /= sums.towers;
      means.push_back(std::move(kernel));
    }
  }
  return means;
}

PhaseTimes TowerRunner::times() const {
  PhaseTimes total;
  for (const auto& device : devices_) total += device->times;
  return total;
}

void TowerRunner::reset_times() {
  for (const auto& device : devices_) device->times = {};
}

size_t TowerRunner::size_bytes() const {
  size_t total = fold_.size_bytes();
  for (const auto& device : devices_)
    for (const auto& [executable, context] : device->contexts) total += context->size_bytes();
  for (const auto* slots : {&kept_->values, &kept_->exchanges})
    for (const auto& slot : *slots)
      for (const AlignedBytes& bytes : slot) total += bytes.size();
  return total;
}

}  // namespace lockstep
