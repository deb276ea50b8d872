#include "lockstep/train/resident_update.h"

#include <algorithm>
#include <array>
#include <map>
#include <optional>

#include "lockstep/nn/update_rules.h"
#include "lockstep/towers/resident_programs.h"
#include "lockstep/towers/tree_reduce.h"
#include "lockstep/train/device_scratch.h"
#include "lockstep/train/update_graphs.h"

namespace lockstep {
namespace {

constexpr int64_t kPieceSize = int64_t{1} << 20;  // elements

size_t at(int64_t index) {
  return static_cast<size_t>(index);
}

int64_t blocks_in(int64_t size) {
  return (size + kUpdateBlock - 1) / kUpdateBlock;
}

Value flat(Builder& b, Value value) {
  return b.reshape(value, {value.shape().size()});
}

/// Sums over blocks of 4,096 elements, a shorter last one filled up with zeros: f32[blocks].
Value block_sums(Builder& b, Value values) {
  const int64_t n = values.shape()[0], blocks = blocks_in(n);
  const Value whole = b.pad(values, b.constant(0.0), {0}, {blocks * kUpdateBlock - n}, {0});
  return b.reduce_sum(b.reshape(whole, {blocks, kUpdateBlock}), {1});
}

}  // namespace

/// A run of a variable's elements that one device updates.
struct ResidentUpdate::Piece {
  int variable;
  int64_t begin, size;  // elements of the variable
  int owner;
  bool is_updated;  // a gradient or a penalty reaches it
  int64_t first_block, block_count;
  // By variant; made when first wanted, by the owner's thread.
  std::array<std::optional<std::shared_ptr<DeviceProgram>>, 2> prepare{};
  std::array<std::array<std::shared_ptr<DeviceProgram>, 2>, 2> apply{};
};

struct ResidentUpdate::DeviceState {
  std::vector<int> pieces;  // indices of those it owns
  // Of each owned piece: accumulator, average, slots, as far as the optimizer has them.
  std::vector<std::vector<DeviceTensorPtr>> tensors;
  bool has_tensors = false;
  std::vector<DeviceTensorPtr> gradients;  // prepared
  DeviceTensorPtr joined;                  // its new weights
};

/// What a step does; each has its own programs.
struct ResidentUpdate::Variant {
  bool updates;     // else it accumulates only
  bool overwrites;  // weights with their averages
};

std::vector<SumPiece> cut_pieces(const StepLayout& layout, int devices) {
  std::vector<SumPiece> pieces;
  for (size_t v = 0; v < layout.trainable.size(); ++v) {
    const Variable& variable = *layout.trainable[v];
    const int64_t step = variable.constraint ? variable.size() : kPieceSize;
    for (int64_t begin = 0; begin < variable.size(); begin += step) {
      const int64_t size = std::min(step, variable.size() - begin);
      const int64_t offset = layout.gradient_offsets[v] + begin;
      const int64_t owner = (offset + size / 2) * devices / layout.gradients_size;
      pieces.push_back({offset, size, static_cast<int>(std::min<int64_t>(owner, devices - 1))});
    }
  }
  return pieces;
}

ResidentUpdate::ResidentUpdate(const DeviceMemory& memory, int devices, const StepLayout& layout,
                               OptimizerPtr optimizer, VariableSpace& host,
                               ResidentVariables& variables)
    : memory_(memory),
      layout_(layout),
      optimizer_(std::move(optimizer)),
      host_(host),
      variables_(variables),
      tensors_(layout, *optimizer_),
      devices_(at(devices)) {
  first_block_.push_back(0);
  for (const VariablePtr& variable : layout.trainable)
    first_block_.push_back(first_block_.back() + static_cast<int>(blocks_in(variable->size())));
  squares_.resize(at(first_block_.back()));
  penalties_.resize(squares_.size());
  size_t v = 0;
  for (const SumPiece& piece : cut_pieces(layout, devices)) {
    while (piece.offset >= layout.gradient_offsets[v] + layout.trainable[v]->size()) ++v;
    const int64_t begin = piece.offset - layout.gradient_offsets[v];
    devices_[at(piece.owner)].pieces.push_back(static_cast<int>(pieces_.size()));
    pieces_.push_back({static_cast<int>(v), begin, piece.size, piece.owner,
                       layout.has_gradient[v] || layout.trainable[v]->regularizer != nullptr,
                       first_block_[v] + begin / kUpdateBlock, blocks_in(piece.size)});
  }
  const Variant usual{true, false};
  for (Piece& piece : pieces_) {
    prepare_program(piece, usual);
    apply_program(piece, usual);
  }
  compile_moving_averages();
  compile_publication();
}

ResidentUpdate::~ResidentUpdate() = default;

// -- programs

bool ResidentUpdate::needs_norms() const {
  const ClipMode mode = clip_mode(optimizer_->common);
  return mode == ClipMode::kNorm || mode == ClipMode::kGlobalNorm;
}

bool ResidentUpdate::is_update_step() const {
  const auto steps = optimizer_->common.gradient_accumulation_steps;
  return !steps || (scalars_.iterations + 1) % *steps == 0;
}

ResidentUpdate::Variant ResidentUpdate::variant() const {
  const OptimizerConfig& config = optimizer_->common;
  const int64_t updates = scalars_.iterations / config.gradient_accumulation_steps.value_or(1);
  return {is_update_step(), config.use_ema && config.ema_overwrite_frequency &&
                                (updates + 1) % *config.ema_overwrite_frequency == 0};
}

const std::shared_ptr<DeviceProgram>& ResidentUpdate::prepare_program(Piece& piece,
                                                                      const Variant& variant) {
  auto& known = piece.prepare[variant.updates ? 1 : 0];
  if (!known) known = make_prepare_program(piece, variant);
  return *known;
}

/// (weight where it is penalised, gradient, accumulator where there is one) ->
/// (gradient or, in a step that only accumulates, nothing; accumulator; penalty and square sums of
/// blocks); null where nothing is to be done.
std::shared_ptr<DeviceProgram> ResidentUpdate::make_prepare_program(const Piece& piece,
                                                                    const Variant& variant) {
  const OptimizerConfig& config = optimizer_->common;
  const Variable& variable = *layout_.trainable[at(piece.variable)];
  const auto steps = config.gradient_accumulation_steps;
  if (!piece.is_updated || (!variable.regularizer && !steps && !needs_norms())) return nullptr;
  Graph graph;
  Builder b(graph);
  Value weight;
  if (variable.regularizer) weight = b.parameter({DType::kF32, variable.shape}, "weight");
  Value gradient = b.parameter({DType::kF32, {piece.size}}, "gradient");
  std::vector<Value> blocks;
  if (variable.regularizer) {
    const Value part = b.slice(flat(b, weight), {piece.begin}, {piece.begin + piece.size}, {1});
    const Penalised sum = penalise(b, *variable.regularizer, part, gradient);
    gradient = sum.gradient;
    blocks.push_back(block_sums(b, sum.penalty));
  }
  if (steps) {
    const Value accumulator = b.parameter(gradient.type(), "accumulator");
    if (variant.updates) {
      gradient = accumulated_mean(b, gradient, accumulator, *steps);
      graph.add_result(gradient);
      graph.add_result(b.like(accumulator, 0.0));
    } else {
      graph.add_result(b.add(gradient, accumulator));
    }
  } else {
    graph.add_result(gradient);
  }
  if (needs_norms() && variant.updates) blocks.push_back(block_sums(b, b.square(gradient)));
  for (const Value& value : blocks) graph.add_result(value);
  return memory_.compile_resident(graph, {fmt::format("prepare {} gradients", piece.size)}, {});
}

const std::shared_ptr<DeviceProgram>& ResidentUpdate::apply_program(Piece& piece,
                                                                    const Variant& variant) {
  auto& known = piece.apply[variant.updates ? 1 : 0][variant.overwrites ? 1 : 0];
  if (known == nullptr) known = make_apply_program(piece, variant);
  return known;
}

/// (weight; in a step that updates: gradient, learning rate, updates, squared norm, slots; average
/// and updates before this step where weights are averaged) -> (new part of the weight, slots,
/// average).
std::shared_ptr<DeviceProgram> ResidentUpdate::make_apply_program(const Piece& piece,
                                                                  const Variant& variant) {
  const OptimizerConfig& config = optimizer_->common;
  const Variable& variable = *layout_.trainable[at(piece.variable)];
  Graph graph;
  Builder b(graph);
  std::vector<Donation> donations;
  int inputs = 0;
  const auto parameter = [&](const char* name, Shape shape) {
    ++inputs;
    return b.parameter({DType::kF32, std::move(shape)}, name);
  };
  const Value whole = parameter("weight", variable.shape);
  Value part = b.slice(flat(b, whole), {piece.begin}, {piece.begin + piece.size}, {1});
  std::vector<Value> kept;
  if (variant.updates && piece.is_updated) {
    const Value gradient = parameter("gradient", {piece.size});
    const Value learning_rate = parameter("learning_rate", {}), updates = parameter("updates", {});
    const Value squared_norm = parameter("squared_norm", {});
    Optimizer::Args args{b, part, gradient, {}, learning_rate, updates};
    for (const SlotSpec& slot : optimizer_->slots()) {
      donations.push_back({inputs, static_cast<int>(args.slots.size()) + 1});
      args.slots.push_back(parameter(slot.name.c_str(), {piece.size}));
    }
    const Optimizer::Result result = apply_optimizer(*optimizer_, args, squared_norm);
    part = result.weight;
    kept = result.slots;
  }
  if (config.use_ema) {
    donations.push_back({inputs, static_cast<int>(kept.size()) + 1});
    const Value average = parameter("average", {piece.size});
    kept.push_back(moving_average_of_weight(b, average, part, parameter("iterations", {}),
                                            config.ema_momentum));
    if (variant.overwrites) part = kept.back();
  }
  if (variable.constraint && piece.is_updated)
    part = flat(b, variable.constraint->apply(b, b.reshape(part, variable.shape)));
  graph.add_result(part);
  for (const Value& value : kept) graph.add_result(value);
  return memory_.compile_resident(graph, {fmt::format("update {} weights", piece.size)},
                                  std::move(donations));
}

/// (sums behind the gradients, rows of the batch, moving statistics...) -> new ones.
void ResidentUpdate::compile_moving_averages() {
  if (layout_.moving_averages.empty()) return;
  Graph graph;
  Builder b(graph);
  const int64_t first = layout_.gradients_size;
  const Value tail = b.parameter({DType::kF32, {layout_.sums_size - first}}, "sums");
  const Value rows = b.parameter({DType::kF32, {}}, "rows");
  std::map<const Variable*, Value> newest;  // a layer called twice moves its statistics twice
  for (const MovingAverage& moving : layout_.moving_averages) {
    const int64_t n = moving.variable->size(), begin = moving.sum_offset - first;
    const Value held = flat(b, b.parameter({DType::kF32, moving.variable->shape}, "moving"));
    Value& value = newest.try_emplace(moving.variable.get(), held).first->second;
    const Value count = b.multiply(rows, static_cast<double>(moving.positions_per_row));
    const Value statistic = b.slice(tail, {begin}, {begin + n}, {1});
    value = move_average(b, moving.momentum, value, statistic, count);
    graph.add_result(value);
  }
  moving_ = memory_.compile_resident(graph, {"moving averages"}, {});
}

/// Joins of each owner's new values; and, on every device, all owners' joined values taken apart
/// into variables.
void ResidentUpdate::compile_publication() {
  std::vector<std::vector<int64_t>> sizes(devices_.size());
  for (const Piece& piece : pieces_) sizes[at(piece.owner)].push_back(piece.size);
  for (const MovingAverage& moving : layout_.moving_averages)
    sizes[0].push_back(moving.variable->size());
  Graph graph;
  Builder b(graph);
  std::vector<Value> joined;
  for (const std::vector<int64_t>& owned : sizes) {
    const std::vector<int> owners(owned.size(), 0);
    join_.push_back(
        memory_.compile_resident(*scatter_graph(owned, owners, 1), {"join weights"}, {}));
    joined.push_back(b.parameter({DType::kF32, {joined_size(owned)}}, "joined"));
  }
  std::vector<int64_t> ends(devices_.size(), 0);
  const auto take = [&](int owner, int64_t size) {
    int64_t& end = ends[at(owner)];
    end += size;
    return b.slice(joined[at(owner)], {end - size}, {end}, {1});
  };
  std::vector<Value> parts;
  for (size_t i = 0; i < pieces_.size(); ++i) {
    parts.push_back(take(pieces_[i].owner, pieces_[i].size));
    if (i + 1 < pieces_.size() && pieces_[i + 1].variable == pieces_[i].variable) continue;
    const Value whole = parts.size() == 1 ? parts[0] : b.concatenate(parts, 0);
    graph.add_result(b.reshape(whole, layout_.trainable[at(pieces_[i].variable)]->shape));
    parts.clear();
  }
  for (const MovingAverage& moving : layout_.moving_averages)
    graph.add_result(b.reshape(take(0, moving.variable->size()), moving.variable->shape));
  unpack_ = memory_.compile_resident(graph, {"publish weights"}, {});
}

// -- one step

void ResidentUpdate::run_phase(int phase, int device, std::span<const DeviceTensorPtr> pieces,
                               const DeviceTensorPtr& tail) {
  if (phase == 0) ++updating_, prepare(device, pieces);
  if (phase == 1) apply(device, tail);
  if (phase == 2) publish(device), --updating_;
}

DeviceTensorPtr ResidentUpdate::scalar(int device, float value) {
  return memory_.upload(&value, {DType::kF32, {}}, device);
}

void ResidentUpdate::prepare(int device, std::span<const DeviceTensorPtr> gradients) {
  DeviceState& state = devices_[at(device)];
  if (!state.has_tensors) upload_tensors(device);
  state.gradients.assign(gradients.begin(), gradients.end());
  const Variant step = variant();
  std::vector<DeviceMemory::Download> downloads;
  for (size_t i = 0; i < state.pieces.size(); ++i) {
    Piece& piece = pieces_[at(state.pieces[i])];
    const auto& program = prepare_program(piece, step);
    if (program == nullptr) continue;
    const Variable& variable = *layout_.trainable[at(piece.variable)];
    std::vector<DeviceTensorPtr> inputs;
    if (variable.regularizer) inputs.push_back(variables_.at(device, host_.offset(variable)));
    inputs.push_back(gradients[i]);
    const bool accumulates = optimizer_->common.gradient_accumulation_steps.has_value();
    if (accumulates) inputs.push_back(state.tensors[i][0]);
    const std::vector<DeviceTensorPtr> results = program->enqueue(device, inputs);
    size_t next = 0;
    if (step.updates) state.gradients[i] = results[next++];
    if (accumulates || !step.updates) state.tensors[i][0] = results[next++];
    const size_t bytes = at(piece.block_count) * sizeof(float);
    if (variable.regularizer)
      downloads.push_back({results[next++], &penalties_[at(piece.first_block)], bytes});
    if (needs_norms() && step.updates)
      downloads.push_back({results[next++], &squares_[at(piece.first_block)], bytes});
  }
  memory_.download(downloads);
}

/// Of one variable, or of all gradients together: along the tree, as in host memory.
float ResidentUpdate::squared_norm(int variable) {
  const auto norm_of = [&](int v) {
    const int first = first_block_[at(v)], last = first_block_[at(v + 1)];
    return tree_sum(std::span(squares_).subspan(at(first), at(last - first)));
  };
  if (clip_mode(optimizer_->common) == ClipMode::kNorm) return norm_of(variable);
  std::vector<float> norms;
  int before = -1;
  for (const Piece& piece : pieces_) {
    if (piece.is_updated && piece.variable != before) norms.push_back(norm_of(piece.variable));
    before = piece.variable;
  }
  return tree_sum(norms);
}

void ResidentUpdate::apply(int device, const DeviceTensorPtr& tail) {
  DeviceState& state = devices_[at(device)];
  const OptimizerConfig& config = optimizer_->common;
  const Variant step = variant();
  const int64_t updates = scalars_.iterations / config.gradient_accumulation_steps.value_or(1);
  const DeviceTensorPtr learning_rate = scalar(device, scalars_.learning_rate);
  const DeviceTensorPtr before = scalar(device, static_cast<float>(updates));
  const DeviceTensorPtr after = scalar(device, static_cast<float>(updates + 1));
  const bool per_variable = clip_mode(config) == ClipMode::kNorm;
  DeviceTensorPtr norm =
      scalar(device, needs_norms() && step.updates && !per_variable ? squared_norm(0) : 0.0f);
  const size_t first_slot = (config.gradient_accumulation_steps ? 1 : 0) + (config.use_ema ? 1 : 0);
  std::vector<DeviceTensorPtr> parts;
  for (size_t i = 0; i < state.pieces.size(); ++i) {
    Piece& piece = pieces_[at(state.pieces[i])];
    std::vector<DeviceTensorPtr>& tensors = state.tensors[i];
    std::vector<DeviceTensorPtr> inputs;
    inputs.push_back(variables_.at(device, host_.offset(*layout_.trainable[at(piece.variable)])));
    const bool updates_piece = step.updates && piece.is_updated;
    if (updates_piece) {
      if (per_variable) norm = scalar(device, squared_norm(piece.variable));
      for (const DeviceTensorPtr& input : {state.gradients[i], learning_rate, after, norm})
        inputs.push_back(input);
      for (size_t slot = first_slot; slot < tensors.size(); ++slot) inputs.push_back(tensors[slot]);
    }
    if (config.use_ema)
      for (const DeviceTensorPtr& input : {tensors[first_slot - 1], before})
        inputs.push_back(input);
    const auto results = apply_program(piece, step)->enqueue(device, inputs);
    parts.push_back(results[0]);
    size_t next = 1;
    if (updates_piece)
      for (size_t slot = first_slot; slot < tensors.size(); ++slot) tensors[slot] = results[next++];
    if (config.use_ema) tensors[first_slot - 1] = results[next];
  }
  state.gradients.clear();
  if (device == 0 && moving_ != nullptr) {
    std::vector<DeviceTensorPtr> inputs;
    for (const DeviceTensorPtr& input : {tail, scalar(device, scalars_.global_rows)})
      inputs.push_back(input);
    for (const MovingAverage& moving : layout_.moving_averages)
      inputs.push_back(variables_.at(device, host_.offset(*moving.variable)));
    for (DeviceTensorPtr& value : moving_->enqueue(device, inputs)) parts.push_back(value);
  }
  state.joined = join_[at(device)]->enqueue(device, parts)[0];
}

void ResidentUpdate::publish(int device) {
  std::vector<DeviceTensorPtr> joined;
  for (size_t owner = 0; owner < devices_.size(); ++owner)
    joined.push_back(static_cast<int>(owner) == device
                         ? devices_[owner].joined
                         : memory_.copy(devices_[owner].joined, device));
  const std::vector<DeviceTensorPtr> values = unpack_->enqueue(device, joined);
  size_t next = 0;
  for (const VariablePtr& variable : layout_.trainable)
    if (variable->size() > 0) variables_.set(device, host_.offset(*variable), values[next++]);
  for (const MovingAverage& moving : layout_.moving_averages)
    variables_.set(device, host_.offset(*moving.variable), values[next++]);
}

// -- state

void ResidentUpdate::upload_tensors(int device) {
  DeviceState& state = devices_[at(device)];
  state.tensors.clear();
  for (int index : state.pieces) {
    const Piece& piece = pieces_[at(index)];
    const int64_t offset = layout_.gradient_offsets[at(piece.variable)] + piece.begin;
    std::vector<DeviceTensorPtr>& tensors = state.tensors.emplace_back();
    for (AlignedBytes* storage : tensors_.all())
      tensors.push_back(memory_.upload(reinterpret_cast<const float*>(storage->data()) + offset,
                                       {DType::kF32, {piece.size}}, device));
  }
  state.has_tensors = true;
}

void ResidentUpdate::download_tensors() {
  std::vector<DeviceMemory::Download> downloads;
  for (const DeviceState& state : devices_) {
    if (!state.has_tensors) continue;
    for (size_t i = 0; i < state.pieces.size(); ++i) {
      const Piece& piece = pieces_[at(state.pieces[i])];
      const int64_t offset = layout_.gradient_offsets[at(piece.variable)] + piece.begin;
      const std::vector<AlignedBytes*> storages = tensors_.all();
      for (size_t t = 0; t < storages.size(); ++t)
        downloads.push_back({state.tensors[i][t],
                             reinterpret_cast<float*>(storages[t]->data()) + offset,
                             at(piece.size) * sizeof(float)});
    }
  }
  memory_.download(downloads);
}

float ResidentUpdate::penalty() {
  std::vector<float> variables;
  for (size_t v = 0; v < layout_.trainable.size(); ++v) {
    if (!layout_.trainable[v]->regularizer) continue;
    const int first = first_block_[v], last = first_block_[v + 1];
    variables.push_back(tree_sum(std::span(penalties_).subspan(at(first), at(last - first))));
  }
  return tree_sum(variables);
}

void ResidentUpdate::apply_averages() {
  if (!optimizer_->common.use_ema) return;
  download_tensors();
  const auto* averages = reinterpret_cast<const float*>(tensors_.averages.data());
  for (size_t v = 0; v < layout_.trainable.size(); ++v)
    std::copy_n(averages + layout_.gradient_offsets[v], layout_.trainable[v]->size(),
                host_.data() + host_.offset(*layout_.trainable[v]));
  host_.touch();
}

std::vector<OptimizerVariable> ResidentUpdate::save() {
  download_tensors();
  return tensors_.save();
}

void ResidentUpdate::load(const std::vector<OptimizerVariable>& saved) {
  tensors_.load(saved);
  for (DeviceState& state : devices_) state.has_tensors = false;
}

}  // namespace lockstep
