// Reductions, softmax and normalisation.
#include <limits>

#include "lockstep/backend/stablehlo/emitter.h"

namespace lockstep {
namespace {

/// The value that no element of the dtype is below.
std::string lowest(Emitter& e, DType dtype) {
  if (is_float(dtype)) return e.splat(-std::numeric_limits<double>::infinity(), {dtype, {}});
  double value = 0;
  dispatch(dtype,
           [&]<class T>() { value = static_cast<double>(std::numeric_limits<T>::lowest()); });
  return e.splat(value, {dtype, {}});
}

void emit_reduction(Emitter& e, const Node& node, const std::string& initial,
                    std::string_view reducer) {
  const TensorType& type = e.type(node.operands[0]);
  e.define(
      node,
      "stablehlo.reduce({} init: {}) applies stablehlo.{} across dimensions = {} : ({}, {}) -> {}",
      e.name(node.operands[0]), initial, reducer, mlir_list(node.as<AxesAttrs>().axes),
      mlir_type(type), mlir_type({type.dtype, {}}), e.tensor(node.results[0]));
}

/// x with NaN out of an argmax's way: first along the axis it wins against everything, later
/// against nothing, as in the op's meaning, where an element must be larger than the best before
/// it.
std::string without_nan(Emitter& e, const std::string& x, const TensorType& type,
                        const std::string& indices) {
  constexpr double kInfinity = std::numeric_limits<double>::infinity();
  const TensorType index{DType::kS32, type.shape}, bits{DType::kBool, type.shape};
  const std::string t = mlir_type(type), i = mlir_type(index), p = mlir_type(bits);
  const std::string zero = e.splat(0, index), high = e.splat(kInfinity, type),
                    low = e.splat(-kInfinity, type);
  const std::string first =
      e.let("stablehlo.compare EQ, {0}, {1}, SIGNED : ({2}, {2}) -> {3}", indices, zero, i, p);
  const std::string instead = e.let("stablehlo.select {}, {}, {} : {}, {}", first, high, low, p, t);
  const std::string is_nan =
      e.let("stablehlo.compare NE, {0}, {0}, FLOAT : ({1}, {1}) -> {2}", x, t, p);
  return e.let("stablehlo.select {}, {}, {} : {}, {}", is_nan, instead, x, p, t);
}

}  // namespace

void emit_ReduceSum(Emitter& e, const Node& node) {
  emit_reduction(e, node, e.splat(0.0, {e.type(node.operands[0]).dtype, {}}), "add");
}

void emit_ReduceMax(Emitter& e, const Node& node) {
  emit_reduction(e, node, lowest(e, e.type(node.operands[0]).dtype), "maximum");
}

/// Pairs of (element, index): the larger wins, at ties the lower index.
void emit_ArgMax(Emitter& e, const Node& node) {
  const TensorType& type = e.type(node.operands[0]);
  const TensorType index{DType::kS32, type.shape};
  const int axis = node.as<AxisAttrs>().axis;
  const std::string x = mlir_type({type.dtype, {}}), i = "tensor<i32>", p = "tensor<i1>";
  const std::string indices = e.let("stablehlo.iota dim = {} : {}", axis, mlir_type(index));
  const std::string operand = e.name(node.operands[0]),
                    elements =
                        is_float(type.dtype) ? without_nan(e, operand, type, indices) : operand;
  const std::string low = lowest(e, type.dtype), none = e.splat(0, {DType::kS32, {}});
  const TensorType result = e.type(node.results[0]);
  const std::string pair = e.let_many(
      fmt::format("stablehlo.reduce({} init: {}), ({} init: {}) across dimensions = [{}] : ({}, "
                  "{}, {}, {}) -> ({}, {})\n"
                  "     reducer(%a: {x}, %b: {x}) (%ai: {i}, %bi: {i}) {{\n"
                  "      %g = stablehlo.compare GT, %a, %b, {kind} : ({x}, {x}) -> {p}\n"
                  "      %e = stablehlo.compare EQ, %a, %b, {kind} : ({x}, {x}) -> {p}\n"
                  "      %l = stablehlo.compare LT, %ai, %bi, SIGNED : ({i}, {i}) -> {p}\n"
                  "      %el = stablehlo.and %e, %l : {p}\n"
                  "      %left = stablehlo.or %g, %el : {p}\n"
                  "      %m = stablehlo.select %left, %a, %b : {p}, {x}\n"
                  "      %mi = stablehlo.select %left, %ai, %bi : {p}, {i}\n"
                  "      stablehlo.return %m, %mi : {x}, {i}\n"
                  "    }}",
                  elements, low, indices, none, axis, mlir_type(type), mlir_type(index), x, i,
                  mlir_type({type.dtype, result.shape}), mlir_type(result), fmt::arg("x", x),
                  fmt::arg("i", i), fmt::arg("p", p),
                  fmt::arg("kind", comparison_kind(type.dtype))),
      2);
  e.set_name(node.results[0], pair + "#1");
}

EMIT_DECOMPOSED(Softmax)
EMIT_DECOMPOSED(LogSoftmax)
EMIT_DECOMPOSED(BatchNormTraining)
EMIT_DECOMPOSED(BatchNormGradient)

}  // namespace lockstep
