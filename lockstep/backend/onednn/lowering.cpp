#include "lockstep/backend/onednn/lowering.h"

#include <algorithm>
#include <cstring>
#include <numeric>
#include <queue>
#include <utility>

namespace lockstep {
namespace {

class CopyStep : public Step {
 public:
  CopyStep(int from, int to, size_t bytes) : from_(from), to_(to), bytes_(bytes) {}
  void run(const Frame& frame) const override {
    std::memcpy(frame.slots[to_], frame.slots[from_], bytes_);
  }
  std::string describe() const override { return fmt::format("copy {} bytes", bytes_); }

 private:
  int from_, to_;
  size_t bytes_;
};

}  // namespace

Plan lower(const Graph& graph) {
  Plan plan;
  Lowering(graph, plan).run();
  return plan;
}

Lowering::Lowering(const Graph& graph, Plan& plan) : graph_(graph), plan_(plan) {
  const auto values = static_cast<size_t>(graph.value_count());
  users_.resize(values);
  is_result_.resize(values, false);
  slot_of_.resize(values, -1);
  last_unit_.resize(values, -1);
  unit_of_.resize(graph.nodes().size(), -1);
  for (const Node& node : graph.nodes())
    for (int operand : node.operands) users_[static_cast<size_t>(operand)].push_back(node.id);
  for (int result : graph.results()) is_result_[static_cast<size_t>(result)] = true;
}

void Lowering::run() {
  for (size_t i = 0; i < graph_.parameters().size(); ++i) {
    const int value = graph_.parameters()[i];
    slot_of_[static_cast<size_t>(value)] =
        new_slot({Slot::Kind::kInput, static_cast<int>(i), type(value).size_bytes(), 0, {}});
  }
  find_recovered();
  form_units();
  order_units();
  find_last_uses();
  choose_layouts();
  for (position_ = 0; position_ < static_cast<int>(order_.size()); ++position_) {
    current_ = order_[static_cast<size_t>(position_)];
    lower_unit();
  }
  finish_results();
  plan_arena();
}

const Node* Lowering::only_user(int value) const {
  return users(value).size() == 1 && !is_result(value) ? &graph_.node(users(value)[0]) : nullptr;
}

// -- units

void Lowering::find_recovered() {
  for (const Node& node : graph_.nodes()) {
    if (node.opcode != Opcode::kDropout) continue;
    const int y = node.operands[0];
    if (is_result(y) || users(y).size() != 2) continue;
    for (int user : users(y)) {
      const Node& gradient = graph_.node(user);
      if (gradient.opcode != Opcode::kEluGradient && gradient.opcode != Opcode::kReluGradient)
        continue;
      const Node& dropped = graph_.producer(gradient.operands[1]);
      if (gradient.operands[0] == y && dropped.opcode == Opcode::kDropoutGradient &&
          only_user(gradient.operands[1]) && dropped.operands[1] == node.results[1] &&
          type(y).shape.without_rows().size() % 16 == 0)
        recovered_[y] = node.id;
    }
  }
}

const Node* Lowering::recovering_dropout(const Node& gradient) const {
  if (gradient.opcode != Opcode::kEluGradient && gradient.opcode != Opcode::kReluGradient)
    return nullptr;
  const auto it = recovered_.find(gradient.operands[0]);
  return it == recovered_.end() ? nullptr : &graph_.node(it->second);
}

void Lowering::absorb(int node, int unit) {
  unit_of_[static_cast<size_t>(node)] = unit;
  auto& nodes = units_[static_cast<size_t>(unit)].nodes;
  nodes.push_back(node);
}

std::optional<BroadcastView> Lowering::broadcast_view(int value) const {
  const Node& node = graph_.producer(value);
  if (node.opcode == Opcode::kConstant && node.as<ConstantAttrs>().is_splat())
    return BroadcastView{value, BroadcastView::Kind::kTiled, 1};
  if (node.opcode != Opcode::kBroadcastInDim) return std::nullopt;
  const auto& attrs = node.as<BroadcastAttrs>();
  const Shape& from = type(node.operands[0]).shape;
  const int rank = attrs.shape.rank();
  const int64_t size = from.size();
  if (size == 1) return BroadcastView{node.operands[0], BroadcastView::Kind::kTiled, 1};
  // Axes of extent 1 in the operand stand for nothing: look at the others alone.
  std::vector<std::pair<int64_t, int64_t>> axes;  // result axis, extent
  for (size_t i = 0; i < attrs.dimensions.size(); ++i)
    if (from[static_cast<int>(i)] != 1)
      axes.emplace_back(attrs.dimensions[i], from[static_cast<int>(i)]);
  int64_t first = rank, covered = 1;
  while (first > 0 && covered < size) covered *= attrs.shape[static_cast<int>(--first)];
  if (covered == size && axes.front().first >= first)
    return BroadcastView{node.operands[0], BroadcastView::Kind::kTiled, size};
  int64_t last = 0;
  covered = 1;
  while (last < rank && covered < size) covered *= attrs.shape[static_cast<int>(last++)];
  if (covered == size && axes.back().first < last)
    return BroadcastView{node.operands[0], BroadcastView::Kind::kRepeated,
                         attrs.shape.size() / size};
  return std::nullopt;
}

/// A broadcast that only elementwise nodes read is never written out.
bool Lowering::is_view_only(const Node& node) const {
  if (node.opcode != Opcode::kBroadcastInDim || is_result(node.results[0]) ||
      !broadcast_view(node.results[0]))
    return false;
  const auto& all = users(node.results[0]);
  return std::all_of(all.begin(), all.end(),
                     [&](int user) { return is_pointwise(graph_, graph_.node(user)); });
}

void Lowering::form_units() {
  for (const Node& node : graph_.nodes()) {
    if (!is_free(node.id) || has_trait(node.opcode, kLeaf)) continue;
    if (is_view_only(node) || awaits_convolution(*this, node)) continue;
    if (is_pointwise(graph_, node)) {
      form_pointwise(node.id);
      continue;
    }
    units_.push_back({{}, false, node.id});
    const int unit = static_cast<int>(units_.size()) - 1;
    absorb(node.id, unit);
    if (node.opcode == Opcode::kConv2d || node.opcode == Opcode::kConv2dKernelGradient)
      absorb_into_convolution(*this, node, unit);
  }
}

/// Does computing `value` need a result of `unit`, other than by being one?
bool Lowering::depends(int value, int unit) const {
  const int first = units_[static_cast<size_t>(unit)].nodes.front();
  std::vector<int> stack{graph_.producer(value).id};
  std::vector<bool> seen(graph_.nodes().size(), false);
  while (!stack.empty()) {
    const int id = stack.back();
    stack.pop_back();
    if (id < first || seen[static_cast<size_t>(id)]) continue;
    seen[static_cast<size_t>(id)] = true;
    const int other = unit_of_[static_cast<size_t>(id)];
    if (other == unit) return true;
    if (other >= 0) {
      // The whole other unit must run first: follow all of its operands.
      for (int member : units_[static_cast<size_t>(other)].nodes)
        for (int operand : graph_.node(member).operands)
          stack.push_back(graph_.producer(operand).id);
    } else {
      for (int operand : graph_.node(id).operands) stack.push_back(graph_.producer(operand).id);
    }
  }
  return false;
}

/// Joins the pointwise unit of an operand where that closes no cycle; else starts a new one.
void Lowering::form_pointwise(int id) {
  const Node& node = graph_.node(id);
  const int64_t size = type(node.results[0]).size();
  const auto effective = [&](int operand) {
    const Node& producer = graph_.producer(operand);
    return producer.opcode == Opcode::kBroadcastInDim &&
                   unit_of_[static_cast<size_t>(producer.id)] < 0
               ? producer.operands[0]
               : operand;
  };
  for (auto it = node.operands.rbegin(); it != node.operands.rend(); ++it) {
    const int unit = unit_of_[static_cast<size_t>(graph_.producer(*it).id)];
    if (unit < 0 || !units_[static_cast<size_t>(unit)].is_pointwise) continue;
    const int first = units_[static_cast<size_t>(unit)].nodes.front();
    if (type(graph_.node(first).results[0]).size() != size) continue;
    const bool closes_cycle =
        std::any_of(node.operands.begin(), node.operands.end(), [&](int operand) {
          const int source = effective(operand);
          return unit_of_[static_cast<size_t>(graph_.producer(source).id)] != unit
                     ? depends(source, unit)
                     : source != operand;
        });
    if (closes_cycle) continue;
    absorb(id, unit);
    return;
  }
  units_.push_back({{}, true});
  absorb(id, static_cast<int>(units_.size()) - 1);
}

/// Elementwise work on what a contraction yields, be it reshaped.
bool Lowering::may_follow(int unit, int leader) const {
  const auto head_is = [&](int index, auto predicate) {
    const Unit& u = units_[static_cast<size_t>(index)];
    return !u.is_pointwise && predicate(graph_.node(u.head).opcode);
  };
  return head_is(leader,
                 [](Opcode opcode) {
                   return has_trait(opcode, kContraction) || opcode == Opcode::kReshape;
                 }) &&
         (units_[static_cast<size_t>(unit)].is_pointwise || head_is(unit, [](Opcode opcode) {
            return opcode == Opcode::kDropout || opcode == Opcode::kReshape;
          }));
}

void Lowering::order_units() {
  const size_t count = units_.size();
  std::vector<std::vector<int>> after(count);
  std::vector<int> waiting(count, 0);
  for (size_t u = 0; u < count; ++u) {
    std::sort(units_[u].nodes.begin(), units_[u].nodes.end());
    std::vector<int> sources;
    const std::function<void(int)> need = [&](int operand) {
      const Node& producer = graph_.producer(operand);
      const int other = unit_of_[static_cast<size_t>(producer.id)];
      if (other >= 0 && other != static_cast<int>(u)) sources.push_back(other);
      if (other < 0)
        for (int inner : producer.operands) need(inner);
    };
    for (int id : units_[u].nodes) {
      for (int operand : graph_.node(id).operands) need(operand);
      // A gradient taken from the dropped value runs after the dropout, and nothing else reads the
      // value.
      if (const Node* dropout = recovering_dropout(graph_.node(id)))
        sources.push_back(unit_of_[static_cast<size_t>(dropout->id)]);
    }
    std::sort(sources.begin(), sources.end());
    sources.erase(std::unique(sources.begin(), sources.end()), sources.end());
    for (int source : sources) after[static_cast<size_t>(source)].push_back(static_cast<int>(u));
    waiting[u] = static_cast<int>(sources.size());
  }
  // Earliest node first: the order the graph was written in, as far as units allow; but what can
  // follow a contraction part by part comes right behind it.
  const auto later = [&](int a, int b) {
    return units_[static_cast<size_t>(a)].nodes.front() >
           units_[static_cast<size_t>(b)].nodes.front();
  };
  std::priority_queue<int, std::vector<int>, decltype(later)> ready(later);
  for (size_t u = 0; u < count; ++u)
    if (waiting[u] == 0) ready.push(static_cast<int>(u));
  const std::function<void(int)> put = [&](int unit) {
    order_.push_back(unit);
    int follower = -1;
    for (int next : after[static_cast<size_t>(unit)]) {
      if (--waiting[static_cast<size_t>(next)] > 0) continue;
      if (follower < 0 && may_follow(next, unit))
        follower = next;
      else
        ready.push(next);
    }
    if (follower >= 0) put(follower);
  };
  while (!ready.empty()) {
    const int unit = ready.top();
    ready.pop();
    put(unit);
  }
  LOCKSTEP_CHECK(order_.size() == count);
}

void Lowering::find_last_uses() {
  const int end = static_cast<int>(order_.size());
  for (int position = 0; position < end; ++position)
    for (int id : units_[static_cast<size_t>(order_[static_cast<size_t>(position)])].nodes) {
      const std::function<void(int)> use = [&](int operand) {
        last_unit_[static_cast<size_t>(operand)] = position;
        const Node& producer = graph_.producer(operand);
        if (unit_of_[static_cast<size_t>(producer.id)] < 0)
          for (int inner : producer.operands) use(inner);
      };
      const Node& node = graph_.node(id);
      for (int operand : node.operands) use(operand);
      if (const Node* dropout = recovering_dropout(node)) use(dropout->results[0]);
    }
  for (int result : graph_.results()) last_unit_[static_cast<size_t>(result)] = end;
  // A reshape shares memory: what it reads lives as long as what it makes.
  for (auto it = graph_.nodes().rbegin(); it != graph_.nodes().rend(); ++it)
    if (it->opcode == Opcode::kReshape) {
      int& from = last_unit_[static_cast<size_t>(it->operands[0])];
      from = std::max(from, last_unit_[static_cast<size_t>(it->results[0])]);
    }
  for (const auto& [value, dropout] : recovered_) {
    last_unit_[static_cast<size_t>(value)] = -1;
    for (int position = 0; position < end; ++position)
      if (order_[static_cast<size_t>(position)] == unit_of_[static_cast<size_t>(dropout)])
        last_unit_[static_cast<size_t>(value)] = position;
  }
}

void Lowering::lower_unit() {
  if (unit().is_pointwise) {
    lower_pointwise(*this);
    return;
  }
  const Node& node = graph_.node(unit().head);
  switch (node.opcode) {
    case Opcode::kReshape:
      share(node.results[0], node.operands[0]);
      return;
    case Opcode::kConv2d:
    case Opcode::kConv2dInputGradient:
    case Opcode::kConv2dKernelGradient:
      lower_convolution(*this, node);
      return;
    case Opcode::kDotGeneral:
      lower_dot(*this, node);
      return;
    case Opcode::kDropout:
      lower_dropout(*this, node);
      return;
    case Opcode::kSoftmax:
    case Opcode::kLogSoftmax:
      lower_rowwise(*this, node);
      return;
    default:
      break;
  }
  if (has_trait(node.opcode, kMovement)) return lower_movement(*this, node);
  if (has_trait(node.opcode, kReduction)) return lower_reduce(*this, node);
  if (has_trait(node.opcode, kWindow)) return lower_pooling(*this, node);
  if (has_trait(node.opcode, kNormalization)) return lower_normalization(*this, node);
  if (has_trait(node.opcode, kElementwise)) return lower_by_meaning(*this, node);
  unsupported("cpu", "no lowering of {} (layer \"{}\")", op_def(node.opcode).mnemonic,
              node.context);
}

// -- memory

int Lowering::new_slot(Slot slot) {
  plan_.slots.push_back(std::move(slot));
  return static_cast<int>(plan_.slots.size()) - 1;
}

void Lowering::touch(int slot) {
  Slot& s = plan_.slots[static_cast<size_t>(slot)];
  const int step = static_cast<int>(plan_.steps.size());
  if (s.first_step < 0) s.first_step = step;
  s.last_step = std::max(s.last_step, step);
  touched_.push_back(slot);
}

int Lowering::main_slot(int value) {
  int& slot = slot_of_[static_cast<size_t>(value)];
  if (slot < 0) {
    const Node& producer = graph_.producer(value);
    LOCKSTEP_CHECK(has_trait(producer.opcode, kLeaf));
    HostTensor tensor(type(value));
    op_def(producer.opcode).rules().eval({}, producer.attrs, {&tensor, 1});
    slot = new_slot({Slot::Kind::kConstant, 0, tensor.size_bytes(), 0, std::move(tensor)});
  }
  touch(slot);
  return slot;
}

int Lowering::read_element(int value) {
  const Node& producer = graph_.producer(value);
  if (producer.opcode != Opcode::kConstant) return read(value);
  const HostTensor& element = producer.as<ConstantAttrs>().value;
  const int slot = new_slot({Slot::Kind::kConstant, 0, element.size_bytes(), 0, element});
  touch(slot);
  return slot;
}

bool Lowering::same_memory(int value, int other) const {
  const int slot = slot_of_[static_cast<size_t>(value)];
  return slot >= 0 && slot == slot_of_[static_cast<size_t>(other)];
}

int Lowering::write(int value) {
  int& slot = slot_of_[static_cast<size_t>(value)];
  if (slot >= 0) return slot;
  const auto& results = graph_.results();
  const auto it = std::find(results.begin(), results.end(), value);
  if (it != results.end() && layout(value).is_row_major())
    slot = new_slot({Slot::Kind::kOutput,
                     static_cast<int>(it - results.begin()),
                     type(value).size_bytes(),
                     0,
                     {}});
  else
    slot = new_slot(
        {Slot::Kind::kArena, 0, aligned(std::max<size_t>(type(value).size_bytes(), 1)), 0, {}});
  touch(slot);
  return slot;
}

bool Lowering::write_in_place(int value, int dying) {
  if (is_result(value) || slot_of_[static_cast<size_t>(value)] >= 0) return false;
  const int slot = slot_of_[static_cast<size_t>(dying)];
  if (slot < 0 || plan_.slots[static_cast<size_t>(slot)].kind != Slot::Kind::kArena) return false;
  if (type(value).size_bytes() != type(dying).size_bytes()) return false;
  for (const auto& [key, copy] : copies_)
    if (copy == slot) return false;
  // Every value in this memory must have been read for the last time, by this unit at the latest.
  for (size_t other = 0; other < slot_of_.size(); ++other)
    if (slot_of_[other] == slot && last_unit_[other] > position_) return false;
  slot_of_[static_cast<size_t>(value)] = slot;
  touch(slot);
  return true;
}

void Lowering::share(int value, int other) {
  slot_of_[static_cast<size_t>(value)] = read_as(other, layout(value));
}

void Lowering::add(std::unique_ptr<Step> step) {
  const std::vector<int> touched = std::exchange(touched_, {});
  const int index = static_cast<int>(plan_.steps.size());
  std::unique_ptr<Step> followed;
  if (index > 0) followed = follow(plan_.steps.back(), step);
  const int last = followed != nullptr ? index - 1 : index;
  for (int slot : touched) {
    Slot& s = plan_.slots[static_cast<size_t>(slot)];
    s.first_step = std::min(s.first_step, last);
    // Copies made on the way put steps between the first touch of a slot and this step.
    s.last_step = last;
  }
  if (followed != nullptr) {
    step = std::move(followed);
    plan_.steps.pop_back();
  }
  add_before(std::move(step));
}

/// A step that prepares the one being made.
void Lowering::add_before(std::unique_ptr<Step> step) {
  plan_.scratch_bytes = std::max(plan_.scratch_bytes, step->scratch_bytes());
  plan_.steps.push_back(std::move(step));
}

/// Results that no step wrote into their own output: parameters, constants, repeats, reshapes.
void Lowering::finish_results() {
  for (size_t i = 0; i < graph_.results().size(); ++i) {
    const int value = graph_.results()[i];
    const bool is_row_major = layout(value).is_row_major();
    const int slot = main_slot(value);
    const Slot& s = plan_.slots[static_cast<size_t>(slot)];
    if (s.kind == Slot::Kind::kOutput && s.index == static_cast<int>(i)) continue;
    const int output =
        new_slot({Slot::Kind::kOutput, static_cast<int>(i), type(value).size_bytes(), 0, {}});
    if (is_row_major)
      add(std::make_unique<CopyStep>(slot, output, type(value).size_bytes()));
    else
      write_result(value, output);
  }
}

/// First fit by size: large slots first, each at the lowest offset free over its life.
void Lowering::plan_arena() {
  std::vector<int> order;
  for (size_t i = 0; i < plan_.slots.size(); ++i)
    if (plan_.slots[i].kind == Slot::Kind::kArena) order.push_back(static_cast<int>(i));
  std::stable_sort(order.begin(), order.end(), [&](int a, int b) {
    return plan_.slots[static_cast<size_t>(a)].size_bytes >
           plan_.slots[static_cast<size_t>(b)].size_bytes;
  });
  std::vector<const Slot*> placed;  // by offset
  for (int index : order) {
    Slot& slot = plan_.slots[static_cast<size_t>(index)];
    size_t offset = 0;
    for (const Slot* other : placed) {
      const bool overlaps_in_time =
          other->first_step <= slot.last_step && slot.first_step <= other->last_step;
      if (!overlaps_in_time) continue;
      if (offset + slot.size_bytes <= other->offset) break;
      offset = std::max(offset, other->offset + other->size_bytes);
    }
    slot.offset = offset;
    plan_.arena_bytes = std::max(plan_.arena_bytes, offset + slot.size_bytes);
    placed.insert(
        std::upper_bound(placed.begin(), placed.end(), &slot,
                         [](const Slot* a, const Slot* b) { return a->offset < b->offset; }),
        &slot);
  }
}

}  // namespace lockstep
