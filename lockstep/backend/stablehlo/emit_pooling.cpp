// 2-D pooling as reduce_window; the gradient of max pooling elementwise, so that it is the same on
// every run: select_and_scatter becomes a sort and a scatter on GPUs.
#include <limits>

#include "lockstep/backend/stablehlo/emitter.h"

namespace lockstep {
namespace {

Dims over_images(const std::array<int64_t, 2>& hw, int64_t other) {
  return {other, hw[0], hw[1], other};
}

/// reduce_window over [height, width] of an NHWC value.
std::string reduce_window(Emitter& e, const std::string& x, const TensorType& type,
                          const std::string& initial, std::string_view reducer,
                          const std::array<int64_t, 2>& window,
                          const std::array<int64_t, 2>& strides, const std::array<int64_t, 2>& low,
                          const std::array<int64_t, 2>& high, const TensorType& result) {
  const std::string scalar = mlir_type({type.dtype, {}});
  const std::pair<int64_t, int64_t> padding[] = {
      {0, 0}, {low[0], high[0]}, {low[1], high[1]}, {0, 0}};
  return e.let(
      "\"stablehlo.reduce_window\"({}, {}) <{{window_dimensions = {}, window_strides = {}, padding "
      "= {}}}> ({{\n"
      "    ^bb0(%a: {s}, %b: {s}):\n"
      "      %c = stablehlo.{reducer} %a, %b : {s}\n"
      "      stablehlo.return %c : {s}\n"
      "    }}) : ({}, {}) -> {}",
      x, initial, mlir_array(over_images(window, 1)), mlir_array(over_images(strides, 1)),
      mlir_pairs(padding), mlir_type(type), scalar, mlir_type(result), fmt::arg("s", scalar),
      fmt::arg("reducer", reducer));
}

/// How many real elements each window holds: f[height, width], broadcast to `y`.
std::string window_counts(Emitter& e, const Shape& x, const PoolAttrs& a, const TensorType& y) {
  HostTensor counts(DType::kF64, {y.shape[1], y.shape[2]});
  bool are_equal = true;
  size_t at = 0;
  for (int64_t h = 0; h < y.shape[1]; ++h)
    for (int64_t w = 0; w < y.shape[2]; ++w) {
      const auto real = [](int64_t first, int64_t window, int64_t extent) {
        return std::min(first + window, extent) - std::max<int64_t>(first, 0);
      };
      const int64_t count = real(h * a.strides[0] - a.pad_low[0], a.window[0], x[1]) *
                            real(w * a.strides[1] - a.pad_low[1], a.window[1], x[2]);
      counts.data<double>()[at++] = static_cast<double>(count);
      are_equal = are_equal && counts.data<double>()[0] == static_cast<double>(count);
    }
  if (are_equal) return e.splat(counts.data<double>()[0], y);
  const HostTensor typed = counts.as(y.dtype);
  return e.broadcast(e.constant(typed), typed.type(), y.shape, {1, 2});
}

std::string divide(Emitter& e, const std::string& a, const std::string& b, const TensorType& type) {
  return e.let("stablehlo.divide {}, {} : {}", a, b, mlir_type(type));
}

}  // namespace

void emit_MaxPool2d(Emitter& e, const Node& node) {
  const auto& a = node.as<PoolAttrs>();
  const TensorType& x = e.type(node.operands[0]);
  const std::string lowest = e.splat(-std::numeric_limits<double>::infinity(), {x.dtype, {}});
  e.set_name(node.results[0],
             reduce_window(e, e.name(node.operands[0]), x, lowest, "maximum", a.window, a.strides,
                           a.pad_low, a.pad_high, e.type(node.results[0])));
}

EMIT_DECOMPOSED(MaxPool2dGradient)

void emit_AvgPool2d(Emitter& e, const Node& node) {
  const auto& a = node.as<PoolAttrs>();
  const TensorType &x = e.type(node.operands[0]), &y = e.type(node.results[0]);
  const std::string sums =
      reduce_window(e, e.name(node.operands[0]), x, e.splat(0.0, {x.dtype, {}}), "add", a.window,
                    a.strides, a.pad_low, a.pad_high, y);
  e.set_name(node.results[0], divide(e, sums, window_counts(e, x.shape, a, y), y));
}

/// Each mean's share, spread by the strides, summed over the windows that a pixel lies in.
void emit_AvgPool2dGradient(Emitter& e, const Node& node) {
  const auto& a = node.as<PoolAttrs>();
  const TensorType &dy = e.type(node.operands[0]), &dx = e.type(node.results[0]);
  const std::string shares =
      divide(e, e.name(node.operands[0]), window_counts(e, a.shape, a, dy), dy);
  const std::string zero = e.splat(0.0, {dy.dtype, {}});
  std::array<int64_t, 2> low{}, high{}, interior{};
  TensorType spread = dx;
  for (size_t i = 0; i < 2; ++i) {
    const int axis = static_cast<int>(i) + 1;
    interior[i] = a.strides[i] - 1;
    low[i] = a.window[i] - 1 - a.pad_low[i];
    spread.shape[axis] = dx.shape[axis] + a.window[i] - 1;
    high[i] = spread.shape[axis] - low[i] - ((dy.shape[axis] - 1) * a.strides[i] + 1);
  }
  const std::string padded =
      e.let("stablehlo.pad {}, {}, low = {}, high = {}, interior = {} : ({}, {}) -> {}", shares,
            zero, mlir_list(over_images(low, 0)), mlir_list(over_images(high, 0)),
            mlir_list(over_images(interior, 0)), mlir_type(dy), mlir_type({dy.dtype, {}}),
            mlir_type(spread));
  e.set_name(node.results[0],
             reduce_window(e, padded, spread, zero, "add", a.window, {1, 1}, {0, 0}, {0, 0}, dx));
}

}  // namespace lockstep
