// Which values lie in blocked order, and the copies that bring a value into another one.
// Convolutions ask for an order; elementwise units, pooling and dropout keep the one that comes.
#include <algorithm>

#include "lockstep/backend/onednn/lowering.h"

namespace lockstep {
namespace {

class ReorderStep : public Step {
 public:
  ReorderStep(const Layout& layout, bool to_row_major, size_t bytes, int from, int to)
      : layout_(layout), to_row_major_(to_row_major), bytes_(bytes), from_(from), to_(to) {}
  void run(const Frame& frame) const override {
    reorder(layout_, to_row_major_, bytes_, frame.slots[from_], frame.slots[to_]);
  }
  std::string describe() const override {
    return fmt::format("reorder [{},{},{}] {} blocks of {} own", layout_.images, layout_.pixels,
                       layout_.channels, to_row_major_ ? "from" : "to", layout_.block);
  }

 private:
  Layout layout_;
  bool to_row_major_;
  size_t bytes_;
  int from_, to_;
};

/// May a value of this shape lie in `layout`? Images themselves, their rows flattened, or masks of
/// either.
bool has_rows_of(const Shape& shape, const Layout& layout) {
  return shape.rank() >= 2 && shape[0] == layout.images &&
         shape.size() == layout.images * layout.pixels * layout.channels;
}

}  // namespace

void Lowering::choose_layouts() {
  layout_.resize(slot_of_.size());
  for (int index : order_) {
    const Unit& unit = units_[static_cast<size_t>(index)];
    if (unit.is_pointwise) {
      const Layout layout = pointwise_layout(unit);
      for (int id : unit.nodes) set_layout(graph_.node(id).results[0], layout);
    } else {
      choose_layout(graph_.node(unit.head), unit);
    }
  }
}

void Lowering::choose_layout(const Node& node, const Unit& unit) {
  const int result = node.results[0];
  const Shape& shape = type(result).shape;
  switch (node.opcode) {
    case Opcode::kConv2d:
      set_layout(graph_.node(unit.nodes.back()).results[0],
                 image_layout(shape, choose_convolution_blocks(*this, node).y));
      return;
    case Opcode::kConv2dInputGradient:
      set_layout(result, image_layout(shape, choose_convolution_blocks(*this, node).x));
      return;
    case Opcode::kMaxPool2d:
    case Opcode::kAvgPool2d:
    case Opcode::kMaxPool2dGradient:
    case Opcode::kAvgPool2dGradient:
      if (!is_result(result))
        set_layout(result, image_layout(shape, layout(node.operands[0]).block));
      return;
    case Opcode::kDropout: {
      const Layout& from = layout(node.operands[0]);
      if (from.is_row_major() || from.channels % 16 != 0 || is_result(result) ||
          is_result(node.results[1]))
        return;
      set_layout(result, from);
      set_layout(node.results[1], from);
      return;
    }
    case Opcode::kReshape:
      if (has_rows_of(shape, layout(node.operands[0])))
        set_layout(result, layout(node.operands[0]));
      return;
    case Opcode::kDotGeneral:
      if (const Node* user = only_user(result);
          user && user->opcode == Opcode::kReshape && is_skinny_input_gradient(*this, node))
        set_layout(result, known_layout(type(user->results[0]).shape));
      return;
    default:
      return;
  }
}

void Lowering::set_layout(int value, const Layout& layout) {
  layout_[static_cast<size_t>(value)] = layout;
  const Shape& shape = type(value).shape;
  if (!layout.is_row_major() && shape.rank() == 4) known_.emplace_back(shape, layout);
}

/// The blocked order of another value of this shape, or row-major.
Layout Lowering::known_layout(const Shape& shape) const {
  for (const auto& [known, layout] : known_)
    if (known == shape) return layout;
  return {};
}

/// Blocked where an operand from outside is, and where every operand can be.
Layout Lowering::pointwise_layout(const Unit& unit) const {
  Layout layout;
  bool has_mask = false;
  for (int id : unit.nodes) {
    const Node& node = graph_.node(id);
    if (is_result(node.results[0])) return {};
    for (int operand : node.operands) {
      const Layout& l = layout_[static_cast<size_t>(operand)];
      const bool is_mask = type(operand).dtype == DType::kU16;
      if (is_mask && l.is_row_major()) return {};
      if (l.is_row_major() || has_mask) continue;
      layout = l;
      has_mask = is_mask;
    }
  }
  if (layout.is_row_major()) return {};
  for (int id : unit.nodes)
    for (int operand : graph_.node(id).operands) {
      if (type(operand).dtype != DType::kU16 && !has_rows_of(type(operand).shape, layout))
        return {};
      const Node& producer = graph_.producer(operand);
      const bool is_unwritten = producer.opcode == Opcode::kConstant || is_free(producer.id);
      if (const auto view = broadcast_view(operand); view && is_unwritten && view->period != 1)
        return {};
    }
  return layout;
}

int Lowering::read_as(int value, const Layout& wanted) {
  const Layout have = layout(value);
  if (have == wanted) return main_slot(value);
  if (!have.is_row_major() && !wanted.is_row_major()) read_as(value, {});
  const auto [it, is_new] = copies_.try_emplace({value, wanted.block}, -1);
  if (is_new) {
    const auto source =
        have.is_row_major() || wanted.is_row_major() ? main_slot(value) : copies_.at({value, 0});
    const size_t bytes = type(value).size_bytes();
    it->second = new_slot({Slot::Kind::kArena, 0, aligned(bytes), 0, {}});
    touch(source);
    touch(it->second);
    const bool to_row_major = wanted.is_row_major();
    add_before(std::make_unique<ReorderStep>(to_row_major ? have : wanted, to_row_major, bytes,
                                             source, it->second));
  }
  touch(it->second);
  return it->second;
}

void Lowering::write_result(int value, int output) {
  const Layout& have = layout(value);
  const size_t bytes = type(value).size_bytes();
  const int source = main_slot(value);
  add(std::make_unique<ReorderStep>(have, true, bytes, source, output));
}

}  // namespace lockstep
