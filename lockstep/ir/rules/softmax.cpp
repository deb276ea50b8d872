// softmax and log_softmax along one axis, with the largest element subtracted first.
#include <limits>

#include "lockstep/ir/rules/rules.h"

namespace lockstep {

using namespace rules;

namespace {

template <bool kIsLog>
std::vector<TensorType> softmax_infer(Types types, const Attrs& attrs) {
  const char* op = kIsLog ? "log_softmax" : "softmax";
  require_float(op, types[0]);
  require_axis(op, types[0], std::get<AxisAttrs>(attrs).axis);
  return {types[0]};
}

/// Calls body(first element, stride, count) for every line along `axis`.
template <class Body>
void for_each_line(const Shape& shape, int axis, Body&& body) {
  const int64_t stride = shape.strides()[static_cast<size_t>(axis)], n = shape[axis];
  if (n == 0) return;
  for (int64_t line = 0; line < shape.size() / n; ++line)
    body(static_cast<size_t>(line / stride * stride * n + line % stride),
         static_cast<size_t>(stride), static_cast<size_t>(n));
}

template <bool kIsLog>
void softmax_eval(Inputs in, const Attrs& attrs, Outputs out) {
  dispatch_float(in[0]->dtype(), [&]<class T>() {
    const auto x = in[0]->data<T>();
    const auto y = out[0].data<T>();
    for_each_line(in[0]->shape(), std::get<AxisAttrs>(attrs).axis,
                  [&](size_t first, size_t stride, size_t n) {
                    T largest = -std::numeric_limits<T>::infinity(), sum = 0;
                    for (size_t i = 0; i < n; ++i)
                      largest = std::max(largest, x[first + i * stride]);
                    for (size_t i = 0; i < n; ++i) sum += std::exp(x[first + i * stride] - largest);
                    const T log_sum = std::log(sum);
                    for (size_t i = 0; i < n; ++i) {
                      const T shifted = x[first + i * stride] - largest;
                      y[first + i * stride] = kIsLog ? shifted - log_sum : std::exp(shifted) / sum;
                    }
                  });
  });
}

Value sum_along(Builder& b, Value x, int axis) {
  Shape kept = x.shape();
  kept[axis] = 1;
  return b.reshape(b.reduce_sum(x, {axis}), kept);
}

std::vector<Value> softmax_vjp(const VjpArgs& args) {
  Builder& b = args.builder;
  const int axis = std::get<AxisAttrs>(args.attrs).axis;
  const Value y = args.results[0], dy = args.cotangents[0];
  return {b.multiply(y, b.subtract(dy, sum_along(b, b.multiply(dy, y), axis)))};
}

std::vector<Value> log_softmax_vjp(const VjpArgs& args) {
  Builder& b = args.builder;
  const int axis = std::get<AxisAttrs>(args.attrs).axis;
  const Value y = args.results[0], dy = args.cotangents[0];
  return {b.subtract(dy, b.multiply(b.exponential(y), sum_along(b, dy, axis)))};
}

Value shifted_by_max(Builder& b, Value x, int axis) {
  Shape kept = x.shape();
  kept[axis] = 1;
  return b.subtract(x, b.reshape(b.reduce_max(x, {axis}), kept));
}

std::vector<Value> softmax_decompose(Builder& b, const Attrs& attrs, std::span<const Value> in) {
  const int axis = std::get<AxisAttrs>(attrs).axis;
  const Value e = b.exponential(shifted_by_max(b, in[0], axis));
  return {b.divide(e, sum_along(b, e, axis))};
}

std::vector<Value> log_softmax_decompose(Builder& b, const Attrs& attrs,
                                         std::span<const Value> in) {
  const int axis = std::get<AxisAttrs>(attrs).axis;
  const Value shifted = shifted_by_max(b, in[0], axis);
  return {b.subtract(shifted, b.log(sum_along(b, b.exponential(shifted), axis)))};
}

// 5e-6: a sum of exponentials in f32. No gradient of the wide one: difference quotients would take
// 18 million exponentials.
std::vector<OpSample> samples() {
  return {{"classes", {uniform({5, 10}, -4, 4, 1)}, AxisAttrs{1}, 5e-6},
          {"wide", {uniform({3, 1003}, -4, 4, 2)}, AxisAttrs{1}, 5e-6, false},
          {"channels", {uniform({2, 3, 3, 21}, -4, 4, 3)}, AxisAttrs{3}, 5e-6},
          {"middle", {uniform({2, 5, 3}, -4, 4, 4)}, AxisAttrs{1}, 5e-6},
          {"one", {uniform({4, 1}, -4, 4, 5)}, AxisAttrs{1}, 5e-6},
          {"large", {floats({2, 3}, {1000, 999, 0, -1000, -1000, -1001})}, AxisAttrs{1}, 5e-6}};
}

}  // namespace

DEFINE_RULES(Softmax, {.infer = softmax_infer<false>,
                       .vjp = softmax_vjp,
                       .eval = softmax_eval<false>,
                       .samples = samples,
                       .decompose = softmax_decompose})
DEFINE_RULES(LogSoftmax, {.infer = softmax_infer<true>,
                          .vjp = log_softmax_vjp,
                          .eval = softmax_eval<true>,
                          .samples = samples,
                          .decompose = log_softmax_decompose})

}  // namespace lockstep
