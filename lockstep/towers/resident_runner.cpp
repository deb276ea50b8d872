#include "lockstep/towers/resident_runner.h"

#include <algorithm>

#include "lockstep/base/activity.h"
#include "lockstep/towers/resident_programs.h"
#include "lockstep/towers/tree_reduce.h"

namespace lockstep {
namespace {

size_t at(int64_t index) {
  return static_cast<size_t>(index);
}

/// The sizes of those that `device` owns.
std::vector<int64_t> owned_sizes(std::span<const int64_t> sizes, std::span<const int> owners,
                                 int device) {
  std::vector<int64_t> owned;
  for (size_t i = 0; i < sizes.size(); ++i)
    if (owners[i] == device) owned.push_back(sizes[i]);
  return owned;
}

/// Each result of an addition takes over its left operand.
std::vector<Donation> left_operands(size_t count) {
  std::vector<Donation> donations;
  for (int i = 0; i < static_cast<int>(count); ++i) donations.push_back({i, i});
  return donations;
}

}  // namespace

/// Fetched when first asked for, so that the host need not wait for a step before it queues the
/// next. Lives no longer than the runner.
class ResidentRunner::TailSums : public StepSums {
 public:
  TailSums(ResidentRunner& runner, DeviceTensorPtr tensor)
      : runner_(runner), tensor_(std::move(tensor)) {}

  const float* from(int64_t offset) override {
    const int64_t first = runner_.plan_.gradients_size;
    LOCKSTEP_CHECK(offset >= first);
    if (tensor_ != nullptr) {
      Timed timed(&runner_.devices_[0].times.wait);
      values_.resize(at(runner_.plan_.sums_size - first));
      const DeviceMemory::Download tail{tensor_, values_.data(), values_.size() * sizeof(float)};
      runner_.memory_.download({&tail, 1});
      tensor_ = nullptr;
    }
    return values_.data() + (offset - first);
  }

 private:
  ResidentRunner& runner_;
  DeviceTensorPtr tensor_;  // null once it is here
  std::vector<float> values_;
};

ResidentRunner::ResidentRunner(DeviceTeam& team, const DeviceMemory& memory, StepPlan plan,
                               RunnerOptions options)
    : StepRunner(team, std::move(plan), std::move(options)),
      memory_(memory),
      devices_(at(team.size())) {
  if (plan_.sums_size == 0) return;
  for (const SumPiece& piece : plan_.pieces) {
    sizes_.push_back(piece.size);
    owners_.push_back(piece.owner);
  }
  const int64_t tail = plan_.sums_size - plan_.gradients_size;
  sizes_.push_back(tail);
  owners_.push_back(0);
  compile_programs();
}

ResidentRunner::~ResidentRunner() = default;

void ResidentRunner::compile_programs() {
  add_all_ =
      memory_.compile_resident(*add_graph(sizes_), {"fold towers"}, left_operands(sizes_.size()));
  if (team_.size() == 1) return;
  scatter_ =
      memory_.compile_resident(*scatter_graph(sizes_, owners_, team_.size()), {"scatter sums"}, {});
  for (int device = 0; device < team_.size(); ++device) {
    const std::vector<int64_t> owned = owned_sizes(sizes_, owners_, device);
    const int64_t joined = joined_size(owned);
    add_joined_.push_back(memory_.compile_resident(
        *add_graph({&joined, 1}), {fmt::format("reduce {} sums", joined)}, left_operands(1)));
    split_.push_back(memory_.compile_resident(*split_graph(owned), {"split sums"}, {}));
  }
}

void ResidentRunner::run(const StepData& data) {
  data_ = &data;
  towers_ = cut_towers(data.rows, options_.tower_size);
  ranges_ = place_towers(static_cast<int>(towers_.size()), team_.size());
  programs_.clear();
  for (const TowerRows& tower : towers_) {
    programs_.push_back(plan_.find(tower.rows));
    LOCKSTEP_CHECK(programs_.back() != nullptr);
  }
  values_.assign(programs_[0]->value_types.size(), Tensors(towers_.size()));
  exchanges_.assign(programs_[0]->exchanged_types.size(), Tensors(towers_.size()));
  exchanged_.resize(exchanges_.size());
  for (DeviceState& state : devices_) {
    state.nodes.clear();  // of a step that failed
    state.scattered.clear();
    state.scalars.clear();
    state.owned.clear();
  }
  team_.run([this](int device) { job(device); });
  for (DeviceState& state : devices_) {
    state.nodes.clear();
    state.scattered.clear();
  }
  data_ = nullptr;
}

void ResidentRunner::job(int device) {
  DeviceState& state = devices_[at(device)];
  const auto wait = [&] {
    Timed timed(&state.times.wait);
    team_.arrive();
  };
  if (data_->variables_changed)
    team_.guard(device, [&] {
      Timed timed(&state.times.prologue);
      data_->resident->upload(device, data_->variables);
    });
  const int segments = static_cast<int>(programs_[0]->segments.size());
  for (int segment = 0; segment < segments; ++segment) {
    team_.guard(device, [&] {
      Timed timed(&state.times.towers);
      for (int tower = ranges_[at(device)].first; tower < ranges_[at(device)].last; ++tower)
        run_tower(device, segment, tower);
    });
    if (segment + 1 == segments) break;
    wait();
    if (device == 0) team_.guard(device, [&] { exchange(segment); });
    wait();
  }
  if (plan_.sums_size == 0) return;
  if (team_.size() > 1) {
    team_.guard(device, [&] { scatter(device); });
    wait();
  }
  team_.guard(device, [&] { reduce(device); });
  ResidentPhases* update = data_->resident_update;
  for (int phase = 0; update != nullptr && phase < update->phase_count(); ++phase) {
    wait();
    team_.guard(device, [&] {
      Timed timed(&state.times.update);
      const auto pieces = static_cast<size_t>(
          std::count_if(plan_.pieces.begin(), plan_.pieces.end(),
                        [&](const SumPiece& piece) { return piece.owner == device; }));
      update->run_phase(phase, device, std::span(state.owned).first(pieces),
                        device == 0 ? state.owned.back() : nullptr);
    });
  }
  if (device == 0)
    team_.guard(device, [&] { sums_ = std::make_shared<TailSums>(*this, state.owned.back()); });
}

DeviceTensorPtr ResidentRunner::input(int device, int tower, const SegmentPlan& segment,
                                      size_t position) {
  const TowerInput& input = segment.inputs[position];
  const TensorType& type = segment.input_types[position];
  const auto index = at(input.index);
  switch (input.source) {
    case TowerInput::Source::kVariable:
      return data_->resident->at(device, input.index);
    case TowerInput::Source::kColumn:
      return memory_.upload(static_cast<const std::byte*>(data_->columns[index]) +
                                at(towers_[at(tower)].begin) * plan_.column_row_bytes[index],
                            type, device);
    case TowerInput::Source::kScalar: {
      auto& scalars = devices_[at(device)].scalars;
      for (const auto& [offset, tensor] : scalars)
        if (offset == input.index) return tensor;
      scalars.emplace_back(input.index, memory_.upload(data_->scalars + index, type, device));
      return scalars.back().second;
    }
    case TowerInput::Source::kFirstRow: {
      const auto first_row = static_cast<uint32_t>(towers_[at(tower)].begin);
      return memory_.upload(&first_row, type, device);
    }
    case TowerInput::Source::kValue:
      return values_[index][at(tower)];
    case TowerInput::Source::kExchanged:
      return memory_.upload(exchanged_[index].data(), type, device);
  }
  check_failed("a known source", __FILE__, __LINE__);
}

ResidentRunner::Tensors ResidentRunner::run_segment(int device, const SegmentPlan& segment,
                                                    const Tensors& inputs) {
  if (kernel_repeats_ == 0) return segment.device_program->enqueue(device, inputs);
  Tensors results;
  const double start = monotonic_seconds();
  for (int repeat = 0; repeat < kernel_repeats_; ++repeat) {
    results = segment.device_program->enqueue(device, inputs);
    memory_.wait(results.back());
  }
  DeviceState& state = devices_[at(device)];
  state.kernels.push_back(
      {"whole program", (monotonic_seconds() - start) / kernel_repeats_, segment.flops});
  ++state.timed_towers;
  return results;
}

void ResidentRunner::run_tower(int device, int segment_index, int tower) {
  if (options_.before_tower) options_.before_tower(device, tower);
  const TowerRows rows = towers_[at(tower)];
  const Activity activity("device {}, tower {} of {} rows", device, tower, rows.rows);
  const SegmentPlan& segment = programs_[at(tower)]->segments[at(segment_index)];
  Tensors inputs;
  for (size_t i = 0; i < segment.inputs.size(); ++i)
    inputs.push_back(input(device, tower, segment, i));
  Tensors results = run_segment(device, segment, inputs);
  Tensors sums;
  std::vector<DeviceMemory::Download> downloads;
  for (size_t i = 0; i < results.size(); ++i) {
    const TowerOutput& output = segment.outputs[i];
    const auto index = at(output.index);
    switch (output.target) {
      case TowerOutput::Target::kSum:
        sums.push_back(std::move(results[i]));
        break;
      case TowerOutput::Target::kRows: {
        const size_t row_bytes = plan_.output_row_bytes[index];
        downloads.push_back(
            {std::move(results[i]),
             static_cast<std::byte*>(data_->row_outputs[index]) + at(rows.begin) * row_bytes,
             at(rows.rows) * row_bytes});
        break;
      }
      case TowerOutput::Target::kValue:
        values_[index][at(tower)] = std::move(results[i]);
        break;
      case TowerOutput::Target::kExchange:
        exchanges_[index][at(tower)] = std::move(results[i]);
        break;
    }
  }
  memory_.download(downloads);
  if (!sums.empty()) deposit(device, tower, std::move(sums));
}

/// Folds siblings as soon as both are there: left + right, up the tree.
void ResidentRunner::deposit(int device, int tower, Tensors sums) {
  std::vector<Node>& nodes = devices_[at(device)].nodes;
  Node node{0, tower, std::move(sums)};
  for (;;) {
    const auto sibling = std::find_if(nodes.begin(), nodes.end(), [&](const Node& other) {
      return other.level == node.level && other.index == (node.index ^ 1);
    });
    if (sibling == nodes.end()) break;
    const bool is_left = node.index % 2 == 0;
    Tensors both = is_left ? std::move(node.sums) : std::move(sibling->sums);
    const Tensors& right = is_left ? sibling->sums : node.sums;
    both.insert(both.end(), right.begin(), right.end());
    node = {node.level + 1, node.index / 2, add_all_->enqueue(device, both)};
    nodes.erase(sibling);
  }
  nodes.push_back(std::move(node));
}

/// Small vectors between segments: summed on the host, level by level along the tree.
void ResidentRunner::exchange(int segment) {
  for (const TowerOutput& output : programs_[0]->segments[at(segment)].outputs) {
    if (output.target != TowerOutput::Target::kExchange) continue;
    const auto slot = at(output.index);
    const auto n = at(programs_[0]->exchanged_types[slot].size());
    std::vector<std::vector<float>> parts(towers_.size(), std::vector<float>(n));
    std::vector<DeviceMemory::Download> downloads;
    for (size_t tower = 0; tower < towers_.size(); ++tower)
      downloads.push_back({exchanges_[slot][tower], parts[tower].data(), n * sizeof(float)});
    memory_.download(downloads);
    for (size_t stride = 1; stride < parts.size(); stride *= 2)
      for (size_t left = 0; left + stride < parts.size(); left += 2 * stride)
        add_into(parts[left].data(), parts[left + stride].data(), static_cast<int64_t>(n));
    exchanged_[slot] = std::move(parts[0]);
  }
}

/// Sends each owner its part of every node that this device has left.
void ResidentRunner::scatter(int device) {
  DeviceState& state = devices_[at(device)];
  Timed timed(&state.times.reduce);
  for (const Node& node : state.nodes) {
    Tensors parts = scatter_->enqueue(device, node.sums);
    for (int owner = 0; owner < team_.size(); ++owner)
      if (owner != device) parts[at(owner)] = memory_.copy(parts[at(owner)], owner);
    state.scattered.push_back(std::move(parts));
  }
}

bool ResidentRunner::exists(int level, int index) const {
  return (static_cast<int64_t>(index) << level) < static_cast<int64_t>(towers_.size());
}

const ResidentRunner::Node* ResidentRunner::find(int level, int index, int* device,
                                                 size_t* position) const {
  for (size_t d = 0; d < devices_.size(); ++d)
    for (size_t i = 0; i < devices_[d].nodes.size(); ++i)
      if (devices_[d].nodes[i].level == level && devices_[d].nodes[i].index == index) {
        *device = static_cast<int>(d);
        *position = i;
        return &devices_[d].nodes[i];
      }
  return nullptr;
}

/// The part of a node's sum that `device` owns, added from what the devices have left of it.
DeviceTensorPtr ResidentRunner::total(int device, int level, int index) {
  int from = 0;
  size_t position = 0;
  if (find(level, index, &from, &position) != nullptr)
    return devices_[at(from)].scattered[position][at(device)];
  LOCKSTEP_CHECK(level > 0);
  const DeviceTensorPtr left = total(device, level - 1, 2 * index);
  if (!exists(level - 1, 2 * index + 1)) return left;
  const DeviceTensorPtr both[] = {left, total(device, level - 1, 2 * index + 1)};
  return add_joined_[at(device)]->enqueue(device, both)[0];
}

void ResidentRunner::reduce(int device) {
  DeviceState& state = devices_[at(device)];
  Timed timed(&state.times.reduce);
  int level = 0;
  while ((size_t{1} << level) < towers_.size()) ++level;
  if (team_.size() > 1) {
    const DeviceTensorPtr joined = total(device, level, 0);
    state.owned = split_[at(device)]->enqueue(device, {&joined, 1});
    return;
  }
  // One device holds every node: from the right, each joins its left neighbour, as `total` would.
  while (state.nodes.size() > 1) {
    Node right = std::move(state.nodes.back());
    state.nodes.pop_back();
    Node& left = state.nodes.back();
    left.sums.insert(left.sums.end(), right.sums.begin(), right.sums.end());
    left.sums = add_all_->enqueue(device, left.sums);
  }
  state.owned = std::move(state.nodes[0].sums);
}

std::shared_ptr<StepSums> ResidentRunner::sums() {
  return sums_;
}

std::vector<float> ResidentRunner::copy_sums() {
  std::vector<float> sums(at(plan_.sums_size), 0.0f);
  std::vector<DeviceMemory::Download> downloads;
  std::vector<size_t> next(devices_.size(), 0);
  for (const SumPiece& piece : plan_.pieces)
    downloads.push_back({devices_[at(piece.owner)].owned[next[at(piece.owner)]++],
                         sums.data() + piece.offset, at(piece.size) * sizeof(float)});
  memory_.download(downloads);
  std::copy_n(sums_->from(plan_.gradients_size), plan_.sums_size - plan_.gradients_size,
              sums.begin() + plan_.gradients_size);
  return sums;
}

std::vector<KernelTime> ResidentRunner::time_kernels(StepData data, int repeats) {
  data.resident_update = nullptr;
  for (DeviceState& state : devices_) state.kernels.clear(), state.timed_towers = 0;
  kernel_repeats_ = repeats;
  run(data);
  kernel_repeats_ = 0;
  KernelTime mean{"whole program", 0, 0};
  int towers = 0;
  for (const DeviceState& state : devices_) {
    for (const KernelTime& kernel : state.kernels) {
      mean.seconds += kernel.seconds;
      mean.flops += kernel.flops;
    }
    towers += state.timed_towers;
  }
  mean.seconds /= std::max(1, towers);
  mean.flops /= std::max(1, towers);
  return {mean};
}

PhaseTimes ResidentRunner::times() const {
  PhaseTimes total;
  for (const DeviceState& state : devices_) total += state.times;
  return total;
}

void ResidentRunner::reset_times() {
  for (DeviceState& state : devices_) state.times = {};
}

size_t ResidentRunner::size_bytes() const {
  size_t total = at(plan_.sums_size - plan_.gradients_size) * sizeof(float);
  for (const std::vector<float>& vector : exchanged_) total += vector.size() * sizeof(float);
  return total;
}

}  // namespace lockstep
