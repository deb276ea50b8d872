// Sums, maxima and argmax over axes.
#include <algorithm>
#include <cstring>

#include "lockstep/backend/onednn/loops.h"
#include "lockstep/backend/onednn/lowering.h"

namespace lockstep {
namespace {

/// Reduced axes side by side: the operand is [outer, reduced, inner].
struct Middle {
  int64_t outer = 1, reduced = 1, inner = 1;
};

std::optional<Middle> as_middle(const Shape& shape, const Dims& axes) {
  if (axes.back() - axes.front() + 1 != static_cast<int64_t>(axes.size())) return std::nullopt;
  Middle m;
  for (int axis = 0; axis < shape.rank(); ++axis)
    (axis < axes.front() ? m.outer : axis > axes.back() ? m.inner : m.reduced) *= shape[axis];
  return m;
}

class MiddleStep : public Step {
 public:
  MiddleStep(Middle m, bool is_sum, int from, int to)
      : m_(m), is_sum_(is_sum), from_(from), to_(to) {}
  void run(const Frame& frame) const override {
    const float* x = frame.at<float>(from_);
    float* y = frame.at<float>(to_);
    const Loops& l = loops();
    if (m_.inner == 1 && is_sum_) {
      for (int64_t i = 0; i < m_.outer; ++i) y[i] = l.sum_row(x + i * m_.reduced, m_.reduced);
      return;
    }
    for (int64_t i = 0; i < m_.outer; ++i)
      (is_sum_ ? l.sum_columns : l.max_columns)(x + i * m_.reduced * m_.inner, m_.reduced, m_.inner,
                                                y + i * m_.inner);
  }
  std::string describe() const override {
    return fmt::format("{} [{},{},{}] own", is_sum_ ? "reduce_sum" : "reduce_max", m_.outer,
                       m_.reduced, m_.inner);
  }

 private:
  Middle m_;
  bool is_sum_;
  int from_, to_;
};

/// Reduced axes apart from each other: element by element, in row-major order.
class ScatteredStep : public Step {
 public:
  ScatteredStep(const Shape& shape, const Dims& axes, bool is_sum, int from, int to)
      : shape_(shape), is_sum_(is_sum), from_(from), to_(to) {
    int64_t stride = 1;
    strides_.resize(static_cast<size_t>(shape.rank()), 0);
    for (int axis = shape.rank() - 1; axis >= 0; --axis)
      if (std::find(axes.begin(), axes.end(), axis) == axes.end()) {
        strides_[static_cast<size_t>(axis)] = stride;
        stride *= shape[axis];
      }
    results_ = stride;
  }
  void run(const Frame& frame) const override {
    const float* x = frame.at<float>(from_);
    float* y = frame.at<float>(to_);
    std::fill_n(y, results_, is_sum_ ? 0.0f : -HUGE_VALF);
    visit(0, x, y);
  }
  std::string describe() const override {
    return fmt::format("reduce {} own, scattered axes", shape_.str());
  }

 private:
  const float* visit(int axis, const float* x, float* y) const {
    for (int64_t i = 0; i < shape_[axis]; ++i, y += strides_[static_cast<size_t>(axis)]) {
      if (axis + 1 < shape_.rank()) {
        x = visit(axis + 1, x, y);
      } else {
        *y = is_sum_ ? *y + *x : (*x > *y || *x != *x ? *x : *y);
        ++x;
      }
    }
    return x;
  }
  Shape shape_;
  Dims strides_;
  int64_t results_ = 1;
  bool is_sum_;
  int from_, to_;
};

class ArgMaxStep : public Step {
 public:
  ArgMaxStep(Middle m, int from, int to) : m_(m), from_(from), to_(to) {}
  void run(const Frame& frame) const override {
    const float* x = frame.at<float>(from_);
    auto* y = frame.at<int32_t>(to_);
    for (int64_t o = 0; o < m_.outer; ++o)
      for (int64_t i = 0; i < m_.inner; ++i) {
        const float* line = x + o * m_.reduced * m_.inner + i;
        int64_t best = 0;
        for (int64_t k = 1; k < m_.reduced; ++k)
          if (line[k * m_.inner] > line[best * m_.inner]) best = k;
        *y++ = static_cast<int32_t>(best);
      }
  }
  std::string describe() const override {
    return fmt::format("argmax [{},{},{}] own", m_.outer, m_.reduced, m_.inner);
  }

 private:
  Middle m_;
  int from_, to_;
};

}  // namespace

void lower_reduce(Lowering& l, const Node& node) {
  const TensorType& x = l.type(node.operands[0]);
  if (x.dtype != DType::kF32) return lower_by_meaning(l, node);
  const int from = l.read(node.operands[0]), to = l.write(node.results[0]);
  if (node.opcode == Opcode::kArgMax) {
    l.add(std::make_unique<ArgMaxStep>(*as_middle(x.shape, {node.as<AxisAttrs>().axis}), from, to));
    return;
  }
  const Dims& axes = node.as<AxesAttrs>().axes;
  const bool is_sum = node.opcode == Opcode::kReduceSum;
  if (const auto middle = as_middle(x.shape, axes))
    l.add(std::make_unique<MiddleStep>(*middle, is_sum, from, to));
  else
    l.add(std::make_unique<ScatteredStep>(x.shape, axes, is_sum, from, to));
}

}  // namespace lockstep
