#include "lockstep/backend/onednn/pointwise.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <map>
#include <optional>
#include <set>

#include "lockstep/backend/onednn/lowering.h"

namespace lockstep {
namespace {

constexpr size_t kRegisterBytes = static_cast<size_t>(kPointBlock) * 4;
constexpr size_t kMaxRefs = 256;

bool is_simple(DType dtype) {
  return dtype == DType::kF32 || dtype == DType::kS32 || dtype == DType::kBool;
}

std::optional<PointOp> compare_op(CompareDirection direction, DType dtype) {
  const bool is_int = dtype == DType::kS32;
  if (dtype != DType::kF32 && !is_int) return std::nullopt;
  switch (direction) {
    case CompareDirection::kEq:
      return is_int ? PointOp::kIntEq : PointOp::kEq;
    case CompareDirection::kNe:
      return is_int ? PointOp::kIntNe : PointOp::kNe;
    case CompareDirection::kLt:
      return is_int ? PointOp::kIntLt : PointOp::kLt;
    case CompareDirection::kLe:
      return is_int ? PointOp::kIntLe : PointOp::kLe;
    case CompareDirection::kGt:
      return is_int ? PointOp::kIntGt : PointOp::kGt;
    case CompareDirection::kGe:
      return is_int ? PointOp::kIntGe : PointOp::kGe;
  }
  return std::nullopt;
}

std::optional<PointOp> convert_op(DType from, DType to) {
  if (from == DType::kS32 && to == DType::kF32) return PointOp::kIntToFloat;
  if (from == DType::kF32 && to == DType::kS32) return PointOp::kFloatToInt;
  if (from == DType::kBool && to == DType::kF32) return PointOp::kMaskToFloat;
  if (from == DType::kBool && to == DType::kS32) return PointOp::kMaskToInt;
  return std::nullopt;
}

std::optional<PointOp> float_op(Opcode opcode) {
  switch (opcode) {
#define SAME(Id)      \
  case Opcode::k##Id: \
    return PointOp::k##Id;
    SAME(Abs)
    SAME(Negate)
    SAME(Sign)
    SAME(Floor)
    SAME(RoundNearestEven) SAME(Exponential) SAME(ExponentialMinusOne) SAME(Log) SAME(LogPlusOne)
        SAME(Logistic) SAME(Tanh) SAME(Erf) SAME(Sqrt) SAME(Rsqrt) SAME(Sine) SAME(Cosine)
            SAME(IsFinite) SAME(Add) SAME(Subtract) SAME(Multiply) SAME(Divide) SAME(Maximum)
                SAME(Minimum) SAME(Power) SAME(Remainder) SAME(Relu) SAME(ReluGradient) SAME(Elu)
                    SAME(EluGradient) SAME(DropoutGradient)
#undef SAME
                        default : return std::nullopt;
  }
}

std::optional<PointOp> int_op(Opcode opcode) {
  switch (opcode) {
    case Opcode::kAdd:
      return PointOp::kIntAdd;
    case Opcode::kSubtract:
      return PointOp::kIntSubtract;
    case Opcode::kMultiply:
      return PointOp::kIntMultiply;
    default:
      return std::nullopt;
  }
}

std::optional<PointOp> point_op(const Graph& graph, const Node& node) {
  if (!has_trait(node.opcode, kElementwise) || node.results.size() != 1) return std::nullopt;
  const DType from = graph.type(node.operands[0]).dtype, to = graph.type(node.results[0]).dtype;
  if (!is_simple(from) || !is_simple(to)) return std::nullopt;
  switch (node.opcode) {
    case Opcode::kCompare:
      return compare_op(node.as<CompareAttrs>().direction, from);
    case Opcode::kConvert:
      return convert_op(from, to);
    case Opcode::kSelect:
      return PointOp::kSelect;
    case Opcode::kAnd:
      return PointOp::kAnd;
    case Opcode::kOr:
      return PointOp::kOr;
    case Opcode::kNot:
      return PointOp::kNot;
    case Opcode::kDropoutGradient:
      if (graph.type(node.results[0]).shape.without_rows().size() % 16 != 0) return std::nullopt;
      break;
    default:
      break;
  }
  return from == DType::kS32   ? int_op(node.opcode)
         : from == DType::kF32 ? float_op(node.opcode)
                               : std::nullopt;
}

std::array<float, 4> params_of(const Node& node) {
  if (const auto* elu = std::get_if<EluAttrs>(&node.attrs))
    return {static_cast<float>(elu->alpha), static_cast<float>(elu->scale)};
  if (const auto* dropout = std::get_if<DropoutAttrs>(&node.attrs))
    return {static_cast<float>(1 / (1 - dropout->rate)), static_cast<float>(1 - dropout->rate)};
  return {};
}

/// Writes the program of one unit.
class PointwiseWriter {
 public:
  explicit PointwiseWriter(Lowering& lowering) : l_(lowering), g_(lowering.graph()) {}

  PointwiseProgram write() {
    std::vector<const Node*> nodes;
    for (int id : l_.unit().nodes) nodes.push_back(&g_.node(id));
    for (const Node* node : nodes) inside_[node->results[0]] = node;
    find_swallowed(nodes);
    program_.size = g_.type(nodes[0]->results[0]).size();
    layout_ = l_.layout(nodes[0]->results[0]);
    for (const Node* node : nodes) count_reads(*node);
    for (const Node* node : nodes)
      if (!swallowed_.contains(node->id)) write_node(*node);
    program_.scratch_bytes =
        broadcast_bytes_ + static_cast<size_t>(program_.registers) * kRegisterBytes;
    program_.text = fmt::format("pointwise[{}] {}", program_.size, program_.text);
    LOCKSTEP_CHECK(program_.refs.size() <= kMaxRefs);
    return std::move(program_);
  }

 private:
  /// dropout_gradient nodes folded into the activation gradient that alone reads them.
  void find_swallowed(const std::vector<const Node*>& nodes) {
    for (const Node* node : nodes)
      if (l_.recovering_dropout(*node)) {
        const Node& dropped = g_.producer(node->operands[1]);
        if (inside_.contains(dropped.results[0])) swallowed_.insert(dropped.id);
      }
  }

  bool is_fused(const Node& node) const {
    return l_.recovering_dropout(node) && swallowed_.contains(g_.producer(node.operands[1]).id);
  }

  std::vector<int> operands_of(const Node& node) const {
    if (!is_fused(node)) return node.operands;
    const Node& dropped = g_.producer(node.operands[1]);
    return {l_.recovering_dropout(node)->results[0], dropped.operands[0], dropped.operands[1]};
  }

  void count_reads(const Node& node) {
    if (swallowed_.contains(node.id)) return;
    for (int operand : operands_of(node)) ++reads_left_[operand];
  }

  bool leaves_unit(int value) const {
    if (l_.is_result(value)) return true;
    const auto& users = l_.users(value);
    return std::any_of(users.begin(), users.end(), [&](int user) {
      const auto it = inside_.find(g_.node(user).results[0]);
      return it == inside_.end() || it->second->id != user;
    });
  }

  int add_ref(PointRef ref) {
    const auto it = std::find(program_.refs.begin(), program_.refs.end(), ref);
    if (it != program_.refs.end()) return static_cast<int>(it - program_.refs.begin());
    program_.refs.push_back(ref);
    return static_cast<int>(program_.refs.size()) - 1;
  }

  int take_register() {
    if (!free_registers_.empty()) {
      const int index = free_registers_.back();
      free_registers_.pop_back();
      return index;
    }
    return program_.registers++;
  }

  void emit(PointOp op, std::array<int, 3> in, int out, std::array<float, 4> params = {}) {
    emit(PointCall{point_function(op), params}, in, out);
  }
  void emit(const PointCall& call, std::array<int, 3> in, int out) {
    program_.instructions.push_back({call.function, call.params, in, out});
  }

  /// Ref of an operand from outside: streams are read in place, broadcasts prepared.
  int outside_ref(int value) {
    const auto known = outside_.find(value);
    if (known != outside_.end()) return known->second;
    const DType dtype = g_.type(value).dtype;
    int ref;
    if (const auto view = l_.broadcast_view(value); view && is_unwritten(value)) {
      ref = broadcast_ref(*view, dtype);
    } else if (dtype == DType::kU16) {
      ref = add_ref({PointRef::Kind::kMask, l_.read_as(value, layout_), 0});
    } else if (dtype == DType::kBool) {
      const int bytes = add_ref({PointRef::Kind::kStream, l_.read_as(value, layout_), 1});
      ref = add_ref({PointRef::Kind::kRegister, take_register()});
      emit(PointOp::kBytesToMask, {bytes, bytes, bytes}, ref);
    } else {
      ref = add_ref({PointRef::Kind::kStream, l_.read_as(value, layout_), 4});
    }
    return outside_[value] = ref;
  }

  /// Constants and broadcasts that exist only as views.
  bool is_unwritten(int value) const {
    const Node& producer = g_.producer(value);
    return producer.opcode == Opcode::kConstant || l_.is_free(producer.id);
  }

  int broadcast_ref(const BroadcastView& view, DType dtype) {
    const int slot = view.period == 1 ? l_.read_element(view.source) : l_.read(view.source);
    if (program_.size == 1 && dtype != DType::kBool)
      return add_ref({PointRef::Kind::kStream, slot, 4});
    const bool is_repeated = view.kind == BroadcastView::Kind::kRepeated;
    const int64_t period = view.period;
    const int64_t length = is_repeated ? kPointBlock : period + kPointBlock;
    program_.broadcasts.push_back(
        {slot, period, broadcast_bytes_, is_repeated, dtype == DType::kBool});
    broadcast_bytes_ += (static_cast<size_t>(length) * 4 + 63) / 64 * 64;
    return add_ref({is_repeated ? PointRef::Kind::kRepeated : PointRef::Kind::kTiled,
                    static_cast<int>(program_.broadcasts.size()) - 1});
  }

  void write_node(const Node& node) {
    std::array<int, 3> in{};
    const std::vector<int> operands = operands_of(node);
    for (size_t i = 0; i < operands.size(); ++i) {
      const auto it = results_.find(operands[i]);
      in[i] = it != results_.end() ? it->second : outside_ref(operands[i]);
    }
    std::vector<int> dying;
    for (int operand : operands)
      if (--reads_left_[operand] == 0) dying.push_back(operand);
    const int result = node.results[0];
    const bool leaves = leaves_unit(result), is_bool = g_.type(result).dtype == DType::kBool;
    int out;
    if (leaves && !is_bool) {
      place(result, dying);
      out = add_ref({PointRef::Kind::kStream, l_.write(result), 4});
    } else {
      out = add_ref({PointRef::Kind::kRegister, take_register()});
    }
    emit_op(node, in, out);
    results_[result] = out;
    if (leaves && is_bool) {
      const int bytes = add_ref({PointRef::Kind::kStream, l_.write(result), 1});
      emit(PointOp::kMaskToBytes, {out, out, out}, bytes);
    }
    for (int operand : dying) release(operand);
    if (reads_left_[result] == 0) release(result);
    program_.text += fmt::format("{} ", op_def(node.opcode).mnemonic);
  }

  /// The result may take the memory of an operand that nobody reads after this instruction.
  void place(int result, const std::vector<int>& dying) {
    for (int operand : dying) {
      const auto it = outside_.find(operand);
      if (it == outside_.end() ||
          program_.refs[static_cast<size_t>(it->second)].kind != PointRef::Kind::kStream)
        continue;
      const bool is_read_again =
          std::any_of(reads_left_.begin(), reads_left_.end(), [&](const auto& entry) {
            return entry.second > 0 && l_.same_memory(entry.first, operand);
          });
      if (g_.type(operand).dtype != DType::kBool && !is_read_again &&
          l_.write_in_place(result, operand))
        return;
    }
  }

  void emit_op(const Node& node, const std::array<int, 3>& in, int out) {
    if (!is_fused(node)) {
      emit(point_call(g_, node), in, out);
      return;
    }
    const std::array<float, 4> dropout = params_of(*l_.recovering_dropout(node)),
                               activation = params_of(node);
    emit(node.opcode == Opcode::kEluGradient ? PointOp::kDropoutEluGradient
                                             : PointOp::kDropoutReluGradient,
         in, out, {dropout[0], dropout[1], activation[0], activation[1]});
  }

  void release(int value) {
    const auto& known = results_.contains(value) ? results_ : outside_;
    const auto it = known.find(value);
    if (it == known.end()) return;
    const PointRef& ref = program_.refs[static_cast<size_t>(it->second)];
    if (ref.kind == PointRef::Kind::kRegister) free_registers_.push_back(ref.index);
  }

  Lowering& l_;
  const Graph& g_;
  Layout layout_;  // of every value of the unit
  PointwiseProgram program_;
  std::map<int, const Node*> inside_;
  std::set<int> swallowed_;
  std::map<int, int> results_, outside_;  // value -> ref
  std::map<int, int> reads_left_;
  std::vector<int> free_registers_;
  size_t broadcast_bytes_ = 0;
};

void fill(const PointBroadcast& b, const std::byte* source, int64_t first, int64_t count,
          float* to) {
  // Bits are copied; i1 becomes a mask of all ones or zeros.
  auto* words = reinterpret_cast<uint32_t*>(to);
  for (int64_t i = 0; i < count; ++i) {
    const auto from =
        static_cast<size_t>(b.is_repeated ? (first + i) / b.period : (first + i) % b.period);
    if (b.is_bool)
      words[i] = source[from] != std::byte{0} ? 0xffffffffu : 0;
    else
      std::memcpy(words + i, source + from * 4, 4);
  }
}

void fill_tile(const PointBroadcast& b, const std::byte* source, int64_t size, float* to) {
  if (b.period > 1 || b.is_bool) {
    fill(b, source, 0, b.period + kPointBlock, to);
    return;
  }
  float value;
  std::memcpy(&value, source, 4);
  std::fill_n(to, std::min(kPointBlock, size), value);
}

}  // namespace

bool is_pointwise(const Graph& graph, const Node& node) {
  return point_op(graph, node).has_value();
}

PointCall point_call(const Graph& graph, const Node& node) {
  return {point_function(*point_op(graph, node)), params_of(node)};
}

void lower_pointwise(Lowering& lowering) {
  lowering.add(std::make_unique<PointwiseStep>(PointwiseWriter(lowering).write()));
}

PointwiseStep::PointwiseStep(PointwiseProgram program) : program_(std::move(program)) {}

FollowingStep::Slots PointwiseStep::slots() const {
  Slots slots;
  const auto add_to = [&](std::vector<int>& list, int ref) {
    const PointRef& r = program_.refs[static_cast<size_t>(ref)];
    if (r.kind == PointRef::Kind::kStream || r.kind == PointRef::Kind::kMask)
      list.push_back(r.index);
  };
  for (const PointInstruction& instruction : program_.instructions) {
    for (int ref : instruction.in) add_to(slots.streams, ref);
    add_to(slots.written, instruction.out);
  }
  for (const PointBroadcast& broadcast : program_.broadcasts) slots.whole.push_back(broadcast.slot);
  return slots;
}

int64_t PointwiseStep::grain() const {
  const bool has_mask =
      std::any_of(program_.refs.begin(), program_.refs.end(),
                  [](const PointRef& ref) { return ref.kind == PointRef::Kind::kMask; });
  return has_mask ? 16 : 1;
}

void PointwiseStep::prepare(const Frame& frame) const {
  for (const PointBroadcast& b : program_.broadcasts)
    if (!b.is_repeated)
      fill_tile(b, frame.slots[b.slot], program_.size,
                reinterpret_cast<float*>(frame.scratch + b.scratch_offset));
}

void PointwiseStep::run_part(const Frame& frame, int64_t first, int64_t end) const {
  std::byte* const scratch = frame.scratch;
  std::byte* const registers =
      scratch + program_.scratch_bytes - static_cast<size_t>(program_.registers) * kRegisterBytes;
  std::byte* pointers[kMaxRefs];
  const size_t refs = program_.refs.size();
  for (int64_t start = first; start < end; start += kPointBlock) {
    const int64_t n = std::min(kPointBlock, end - start);
    for (size_t r = 0; r < refs; ++r) {
      const PointRef& ref = program_.refs[r];
      switch (ref.kind) {
        case PointRef::Kind::kRegister:
          pointers[r] = registers + static_cast<size_t>(ref.index) * kRegisterBytes;
          break;
        case PointRef::Kind::kStream:
          pointers[r] = frame.slots[ref.index] + start * ref.element_bytes;
          break;
        case PointRef::Kind::kMask:
          pointers[r] = frame.slots[ref.index] + start / 16 * 2;
          break;
        case PointRef::Kind::kTiled: {
          const PointBroadcast& b = program_.broadcasts[static_cast<size_t>(ref.index)];
          pointers[r] = scratch + b.scratch_offset + (b.period == 1 ? 0 : start % b.period) * 4;
          break;
        }
        case PointRef::Kind::kRepeated: {
          const PointBroadcast& b = program_.broadcasts[static_cast<size_t>(ref.index)];
          pointers[r] = scratch + b.scratch_offset;
          fill(b, frame.slots[b.slot], start, n, reinterpret_cast<float*>(pointers[r]));
          break;
        }
      }
    }
    for (const PointInstruction& i : program_.instructions) {
      const void* in[3] = {pointers[i.in[0]], pointers[i.in[1]], pointers[i.in[2]]};
      i.function(i.params.data(), in, pointers[i.out], static_cast<size_t>(n));
    }
  }
}

}  // namespace lockstep
