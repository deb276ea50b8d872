// Reductions: the reduced axes vanish.
#include "lockstep/ir/rules/rules.h"

namespace lockstep {

using namespace rules;

namespace {

Dims kept_axes(int rank, const Dims& axes) {
  Dims kept;
  for (int axis = 0; axis < rank; ++axis)
    if (std::find(axes.begin(), axes.end(), axis) == axes.end()) kept.push_back(axis);
  return kept;
}

Shape reduced_shape(const char* op, const TensorType& type, const Dims& axes) {
  require_axes(op, type, axes);
  Shape shape;
  for (int64_t axis : kept_axes(type.shape.rank(), axes))
    shape.dims().push_back(type.shape[static_cast<int>(axis)]);
  return shape;
}

/// Calls body(linear input index, linear output index) for every input element in row-major order.
template <class Body>
void for_each_reduced(const Shape& in, const Dims& axes, const Shape& out, Body&& body) {
  const Dims out_strides = out.strides();
  Dims strides(static_cast<size_t>(in.rank()), 0);
  size_t kept = 0;
  for (int axis = 0; axis < in.rank(); ++axis)
    if (std::find(axes.begin(), axes.end(), axis) == axes.end())
      strides[static_cast<size_t>(axis)] = out_strides[kept++];
  size_t i = 0;
  for_each_index(
      in, [&](const Dims& index) { body(i++, static_cast<size_t>(linear_index(index, strides))); });
}

/// `value` of the reduced shape, broadcast back to the operand's.
Value spread(Builder& b, Value value, const Shape& shape, const Dims& axes) {
  return b.broadcast_in_dim(value, shape, kept_axes(shape.rank(), axes));
}

std::vector<TensorType> sum_infer(Types types, const Attrs& attrs) {
  if (types[0].dtype == DType::kBool)
    invalid_argument("reduce_sum", "operand must be numbers: {}", types[0].str());
  return {{types[0].dtype, reduced_shape("reduce_sum", types[0], std::get<AxesAttrs>(attrs).axes)}};
}

void sum_eval(Inputs in, const Attrs& attrs, Outputs out) {
  dispatch(in[0]->dtype(), [&]<class T>() {
    if constexpr (!std::is_same_v<T, bool>) {
      const auto x = in[0]->data<T>();
      const auto y = out[0].data<T>();
      for_each_reduced(in[0]->shape(), std::get<AxesAttrs>(attrs).axes, out[0].shape(),
                       [&](size_t from, size_t to) { y[to] = static_cast<T>(y[to] + x[from]); });
    }
  });
}

std::vector<Value> sum_vjp(const VjpArgs& args) {
  return {spread(args.builder, args.cotangents[0], args.operands[0].shape(),
                 std::get<AxesAttrs>(args.attrs).axes)};
}

std::vector<TensorType> max_infer(Types types, const Attrs& attrs) {
  require_float("reduce_max", types[0]);
  return {{types[0].dtype, reduced_shape("reduce_max", types[0], std::get<AxesAttrs>(attrs).axes)}};
}

void max_eval(Inputs in, const Attrs& attrs, Outputs out) {
  dispatch_float(in[0]->dtype(), [&]<class T>() {
    const auto x = in[0]->data<T>();
    const auto y = out[0].data<T>();
    std::fill(y.begin(), y.end(), -std::numeric_limits<T>::infinity());
    for_each_reduced(in[0]->shape(), std::get<AxesAttrs>(attrs).axes, out[0].shape(),
                     [&](size_t from, size_t to) {
                       if (x[from] > y[to] || std::isnan(x[from])) y[to] = x[from];
                     });
  });
}

/// i1: the first largest element over `axes`, in row-major order. Told by its place, which no
/// rounding changes.
Value is_first_largest(Builder& b, Value x, const Dims& axes) {
  // The reduced axes side by side, as one.
  Dims order = kept_axes(x.shape().rank(), axes), extents, joined;
  const auto position = std::lower_bound(order.begin(), order.end(), axes[0]) - order.begin();
  order.insert(order.begin() + position, axes.begin(), axes.end());
  int64_t count = 1;
  for (int64_t axis : axes) {
    extents.push_back(x.shape()[static_cast<int>(axis)]);
    count *= extents.back();
  }
  for (int64_t axis : kept_axes(x.shape().rank(), axes))
    joined.push_back(x.shape()[static_cast<int>(axis)]);
  joined.insert(joined.begin() + position, count);
  const Value first =
      b.argmax(b.reshape(b.transpose(x, order), Shape(joined)), static_cast<int>(position));
  const Value places = b.reshape(b.iota({DType::kS32, {count}}, 0), Shape(extents));
  return b.compare(b.broadcast_in_dim(places, x.shape(), axes), spread(b, first, x.shape(), axes),
                   CompareDirection::kEq);
}

/// Shared equally among all equal maxima, as TensorFlow does; NaN everywhere where the maximum is.
/// The first largest takes part whether it equals the maximum or not: a compiler that fuses may
/// compute x anew for each use, with other roundings, and then no element need equal it.
std::vector<Value> max_vjp(const VjpArgs& args) {
  Builder& b = args.builder;
  const Dims& axes = std::get<AxesAttrs>(args.attrs).axes;
  const Value x = args.operands[0], y = args.results[0];
  if (x.shape().size() == 0) return {b.like(x, 0.0)};
  const Value equals = b.compare(x, spread(b, y, x.shape(), axes), CompareDirection::kEq);
  const Value takes = b.convert(b.logical_or(equals, is_first_largest(b, x, axes)), x.dtype());
  const Value dy = b.select(b.compare(y, y, CompareDirection::kEq), args.cotangents[0], y);
  const Value share = b.divide(dy, b.reduce_sum(takes, axes));
  return {b.multiply(takes, spread(b, share, x.shape(), axes))};
}

std::vector<TensorType> argmax_infer(Types types, const Attrs& attrs) {
  const int axis = std::get<AxisAttrs>(attrs).axis;
  require_axis("argmax", types[0], axis);
  if (types[0].shape[axis] == 0)
    invalid_argument("argmax", "axis {} of {} must not be empty", axis, types[0].str());
  return {{DType::kS32, reduced_shape("argmax", types[0], {axis})}};
}

void argmax_eval(Inputs in, const Attrs& attrs, Outputs out) {
  const int axis = std::get<AxisAttrs>(attrs).axis;
  const int64_t stride = in[0]->shape().strides()[static_cast<size_t>(axis)];
  const int64_t n = in[0]->shape()[axis];
  dispatch(in[0]->dtype(), [&]<class T>() {
    const auto x = in[0]->data<T>();
    for (int64_t to = 0; to < out[0].size(); ++to) {
      const int64_t first = to / stride * stride * n + to % stride;
      int64_t best = 0;
      for (int64_t i = 1; i < n; ++i)
        if (x[static_cast<size_t>(first + i * stride)] >
            x[static_cast<size_t>(first + best * stride)])
          best = i;
      out[0].data<int32_t>()[static_cast<size_t>(to)] = static_cast<int32_t>(best);
    }
  });
}

std::vector<OpSample> reduce_samples() {
  // 1e-5: thousands of f32 additions in another order than f64's.
  return {{"all", {uniform({3, 7}, -1, 1, 1)}, AxesAttrs{{0, 1}}},
          {"block", {uniform({4096}, -1, 1, 2)}, AxesAttrs{{0}}, 1e-5, false},
          {"tail", {uniform({37}, -1, 1, 2)}, AxesAttrs{{0}}},
          {"leading", {uniform({2, 5, 3, 19}, -1, 1, 3)}, AxesAttrs{{0, 1, 2}}},
          {"channels_32", {uniform({3, 9, 9, 32}, -1, 1, 3)}, AxesAttrs{{0, 1, 2}}, 1e-5, false},
          {"trailing", {uniform({5, 33}, -1, 1, 4)}, AxesAttrs{{1}}},
          {"spatial", {uniform({2, 3, 4, 5}, -1, 1, 5)}, AxesAttrs{{1, 2}}},
          {"ends", {uniform({3, 4, 5}, -1, 1, 6)}, AxesAttrs{{0, 2}}},
          {"inner", {uniform({7, 41, 19}, -1, 1, 8)}, AxesAttrs{{1}}, 1e-5, false},
          {"one", {uniform({3, 1}, -1, 1, 7)}, AxesAttrs{{1}}}};
}

std::vector<OpSample> sum_samples() {
  std::vector<OpSample> samples = reduce_samples();
  samples.push_back(
      {"ints", {HostTensor::of<int32_t>({2, 3}, {1, 2, 3, 4, 5, 6})}, AxesAttrs{{1}}});
  return samples;
}

std::vector<OpSample> max_samples() {
  std::vector<OpSample> samples = reduce_samples();
  samples.push_back({"nan",
                     {floats({3, 3}, {1, kNan, 0, kNan, 2, 3, -kInf, -kInf, -kInf})},
                     AxesAttrs{{1}},
                     1e-6,
                     false});
  // At ties a difference quotient is one-sided.
  samples.push_back({"ties", {floats({2, 3}, {1, 1, 0, -1, -2, -1})}, AxesAttrs{{1}}, 1e-6, false});
  return samples;
}

std::vector<OpSample> argmax_samples() {
  return {{"last", {uniform({5, 10}, -1, 1, 1)}, AxisAttrs{1}},
          {"first", {uniform({4, 3, 2}, -1, 1, 2)}, AxisAttrs{0}},
          {"ties", {floats({2, 3}, {1, 1, 0, -1, -2, -1})}, AxisAttrs{1}},
          {"infinite", {floats({2, 3}, {-kInf, kInf, 0, -kInf, -kInf, -kInf})}, AxisAttrs{1}},
          {"ints", {HostTensor::of<int32_t>({2, 3}, {1, 5, 5, -3, -2, -1})}, AxisAttrs{1}},
          // NaN is no larger than anything, and nothing is larger than a NaN in front.
          {"nan",
           {floats({5, 3},
                   {5, kNan, 3, kNan, 1, kInf, kNan, kNan, kNan, -kInf, kNan, -kInf, 1, 3, kNan})},
           AxisAttrs{1}},
          {"bytes", {HostTensor::of<uint8_t>({2, 3}, {1, 200, 5, 127, 128, 0})}, AxisAttrs{1}},
          {"one", {uniform({4, 1}, -1, 1, 3)}, AxisAttrs{1}},
          {"long", {uniform({3, 1003}, -1, 1, 4)}, AxisAttrs{1}}};
}

}  // namespace

DEFINE_RULES(ReduceSum,
             {.infer = sum_infer, .vjp = sum_vjp, .eval = sum_eval, .samples = sum_samples})
DEFINE_RULES(ReduceMax,
             {.infer = max_infer, .vjp = max_vjp, .eval = max_eval, .samples = max_samples})
DEFINE_RULES(
    ArgMax, {.infer = argmax_infer, .vjp = nullptr, .eval = argmax_eval, .samples = argmax_samples})

}  // namespace lockstep
