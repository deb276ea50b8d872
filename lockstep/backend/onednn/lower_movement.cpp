// Movement ops as strided copies, and the op's own loops for integer and rare types.
#include <algorithm>
#include <cstring>

#include "lockstep/backend/onednn/lowering.h"

namespace lockstep {
namespace {

/// Copies an N-D box: element at index i goes from `from_start + i . from_strides` to
/// `to_start + i . to_strides`. Strides in elements; trailing contiguous axes are one memcpy.
struct BoxCopy {
  Dims extents, from_strides, to_strides;
  int64_t from_start = 0, to_start = 0;
  int64_t run = 1;  // elements copied at once

  void merge_contiguous() {
    while (!extents.empty() && from_strides.back() == run && to_strides.back() == run) {
      run *= extents.back();
      extents.pop_back();
      from_strides.pop_back();
      to_strides.pop_back();
    }
  }

  void copy(const std::byte* from, std::byte* to, size_t element) const {
    visit(0, from + from_start * static_cast<int64_t>(element),
          to + to_start * static_cast<int64_t>(element), element);
  }

 private:
  void visit(size_t axis, const std::byte* from, std::byte* to, size_t element) const {
    if (axis == extents.size()) {
      std::memcpy(to, from, static_cast<size_t>(run) * element);
      return;
    }
    const auto from_step = from_strides[axis] * static_cast<int64_t>(element);
    const auto to_step = to_strides[axis] * static_cast<int64_t>(element);
    if (axis + 1 == extents.size() && run == 1 && element == 4) {
      for (int64_t i = 0; i < extents[axis]; ++i)
        std::memcpy(to + i * to_step, from + i * from_step, 4);
      return;
    }
    for (int64_t i = 0; i < extents[axis]; ++i)
      visit(axis + 1, from + i * from_step, to + i * to_step, element);
  }
};

class BoxStep : public Step {
 public:
  BoxStep(std::string what, std::vector<BoxCopy> copies, std::vector<int> from, int to,
          size_t element)
      : what_(std::move(what)),
        copies_(std::move(copies)),
        from_(std::move(from)),
        to_(to),
        element_(element) {
    for (BoxCopy& copy : copies_) copy.merge_contiguous();
  }
  /// Before the copies, every element of the result becomes the element in slot `value`.
  void fill_with(int value, int64_t size) { fill_ = value, fill_size_ = size; }

  void run(const Frame& frame) const override {
    std::byte* to = frame.slots[to_];
    if (fill_ >= 0)
      for (int64_t i = 0; i < fill_size_; ++i)
        std::memcpy(to + static_cast<size_t>(i) * element_, frame.slots[fill_], element_);
    for (size_t i = 0; i < copies_.size(); ++i)
      copies_[i].copy(frame.slots[from_[i]], to, element_);
  }
  std::string describe() const override { return what_ + " own"; }

 private:
  std::string what_;
  std::vector<BoxCopy> copies_;
  std::vector<int> from_;
  int to_;
  size_t element_;
  int fill_ = -1;
  int64_t fill_size_ = 0;
};

BoxCopy transpose_copy(const Shape& from, const Shape& to, const Dims& permutation) {
  BoxCopy copy{to.dims(), {}, to.strides()};
  for (int64_t axis : permutation)
    copy.from_strides.push_back(from.strides()[static_cast<size_t>(axis)]);
  return copy;
}

BoxCopy broadcast_copy(const Shape& from, const Shape& to, const Dims& dimensions) {
  BoxCopy copy{to.dims(), Dims(static_cast<size_t>(to.rank()), 0), to.strides()};
  for (size_t i = 0; i < dimensions.size(); ++i)
    if (from[static_cast<int>(i)] != 1)
      copy.from_strides[static_cast<size_t>(dimensions[i])] = from.strides()[i];
  return copy;
}

BoxCopy slice_copy(const Shape& from, const Shape& to, const SliceAttrs& a) {
  BoxCopy copy{to.dims(), from.strides(), to.strides()};
  for (size_t i = 0; i < a.start.size(); ++i) {
    copy.from_start += a.start[i] * copy.from_strides[i];
    copy.from_strides[i] *= a.strides[i];
  }
  return copy;
}

BoxCopy reverse_copy(const Shape& shape, const Dims& axes) {
  BoxCopy copy{shape.dims(), shape.strides(), shape.strides()};
  for (int64_t axis : axes) {
    auto& stride = copy.from_strides[static_cast<size_t>(axis)];
    copy.from_start += (shape[static_cast<int>(axis)] - 1) * stride;
    stride = -stride;
  }
  return copy;
}

BoxCopy pad_copy(const Shape& from, const Shape& to, const PadAttrs& a) {
  BoxCopy copy{from.dims(), from.strides(), to.strides()};
  for (size_t i = 0; i < a.low.size(); ++i) {
    // Elements that negative padding crops away: skip to the first that stays, stop before the
    // first beyond.
    const int64_t step = a.interior[i] + 1;
    const int64_t skip = a.low[i] >= 0 ? 0 : (-a.low[i] + step - 1) / step;
    const int64_t first = a.low[i] + skip * step;
    const int64_t fits =
        to[static_cast<int>(i)] <= first ? 0 : (to[static_cast<int>(i)] - first + step - 1) / step;
    copy.extents[i] = std::max<int64_t>(0, std::min(from[static_cast<int>(i)] - skip, fits));
    copy.from_start += skip * copy.from_strides[i];
    copy.to_start += first * copy.to_strides[i];
    copy.to_strides[i] *= step;
  }
  if (std::find(copy.extents.begin(), copy.extents.end(), 0) != copy.extents.end())
    copy.from_start = copy.to_start = 0;
  return copy;
}

/// Runs the op's meaning on tensors made once for each context.
class MeaningStep : public Step {
 public:
  MeaningStep(const Graph& graph, const Node& node, std::vector<int> from, std::vector<int> to)
      : node_(node), from_(std::move(from)), to_(std::move(to)) {
    for (int operand : node.operands) operand_types_.push_back(graph.type(operand));
    for (int result : node.results) result_types_.push_back(graph.type(result));
  }

  struct State : StepState {
    std::vector<HostTensor> operands, results;
    std::vector<const HostTensor*> pointers;
  };
  std::unique_ptr<StepState> create_state() const override {
    auto state = std::make_unique<State>();
    for (const TensorType& type : operand_types_) state->operands.emplace_back(type);
    for (const TensorType& type : result_types_) state->results.emplace_back(type);
    for (const HostTensor& operand : state->operands) state->pointers.push_back(&operand);
    return state;
  }

  void run(const Frame& frame) const override {
    auto& state = static_cast<State&>(*frame.state);
    for (size_t i = 0; i < from_.size(); ++i)
      std::memcpy(state.operands[i].bytes(), frame.slots[from_[i]], state.operands[i].size_bytes());
    for (HostTensor& result : state.results) std::memset(result.bytes(), 0, result.size_bytes());
    op_def(node_.opcode).rules().eval(state.pointers, node_.attrs, state.results);
    for (size_t i = 0; i < to_.size(); ++i)
      std::memcpy(frame.slots[to_[i]], state.results[i].bytes(), state.results[i].size_bytes());
  }
  std::string describe() const override {
    return fmt::format("{} {} plain loops", op_def(node_.opcode).mnemonic, result_types_[0].str());
  }

 private:
  Node node_;
  std::vector<int> from_, to_;
  std::vector<TensorType> operand_types_, result_types_;
};

}  // namespace

void lower_movement(Lowering& l, const Node& node) {
  const TensorType& result = l.type(node.results[0]);
  const Shape &from = l.type(node.operands[0]).shape, &to = result.shape;
  std::vector<BoxCopy> copies;
  std::vector<int> slots{l.read(node.operands[0])};
  int fill = -1;
  switch (node.opcode) {
    case Opcode::kTranspose:
      copies = {transpose_copy(from, to, node.as<TransposeAttrs>().permutation)};
      break;
    case Opcode::kBroadcastInDim:
      copies = {broadcast_copy(from, to, node.as<BroadcastAttrs>().dimensions)};
      break;
    case Opcode::kSlice:
      copies = {slice_copy(from, to, node.as<SliceAttrs>())};
      break;
    case Opcode::kReverse:
      copies = {reverse_copy(from, node.as<AxesAttrs>().axes)};
      break;
    case Opcode::kPad:
      copies = {pad_copy(from, to, node.as<PadAttrs>())};
      fill = l.read(node.operands[1]);
      break;
    case Opcode::kConcatenate: {
      const auto axis = static_cast<size_t>(node.as<AxisAttrs>().axis);
      slots.clear();
      int64_t offset = 0;
      for (int operand : node.operands) {
        const Shape& shape = l.type(operand).shape;
        copies.push_back(
            {shape.dims(), shape.strides(), to.strides(), 0, offset * to.strides()[axis]});
        offset += shape[static_cast<int>(axis)];
        slots.push_back(l.read(operand));
      }
      break;
    }
    default:
      unsupported("cpu", "{} (layer \"{}\")", op_def(node.opcode).mnemonic, node.context);
  }
  auto step = std::make_unique<BoxStep>(
      fmt::format("{} {}", op_def(node.opcode).mnemonic, result.str()), std::move(copies),
      std::move(slots), l.write(node.results[0]), byte_size(result.dtype));
  if (fill >= 0) step->fill_with(fill, result.size());
  l.add(std::move(step));
}

void lower_by_meaning(Lowering& l, const Node& node) {
  std::vector<int> from, to;
  for (int operand : node.operands) from.push_back(l.read(operand));
  for (int result : node.results) to.push_back(l.write(result));
  l.add(std::make_unique<MeaningStep>(l.graph(), node, std::move(from), std::move(to)));
}

}  // namespace lockstep
