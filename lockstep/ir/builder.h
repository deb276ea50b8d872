// One function per op, named as in StableHLO; each appends a node and infers its type.
// Binary elementwise functions broadcast as NumPy does (extents equal or 1, aligned at the last
// axis) by inserting broadcast_in_dim, so that the graph itself holds equal shapes only.
#pragma once

#include <initializer_list>
#include <string>
#include <utility>

#include "lockstep/ir/graph.h"

namespace lockstep {

class Builder {
 public:
  explicit Builder(Graph& graph) : graph_(graph) {}

  Graph& graph() { return graph_; }
  /// Name put on nodes built from now on (the layer's); returns the one before.
  std::string set_context(std::string context) {
    return std::exchange(context_, std::move(context));
  }

  Value parameter(TensorType type, std::string name, ParameterRole role = ParameterRole::kData);
  /// All elements equal; `value` is converted to the dtype.
  Value constant(double value, TensorType type);
  Value constant(double value, DType dtype = DType::kF32) {
    return constant(value, TensorType{dtype, {}});
  }
  Value constant(HostTensor value);
  Value iota(TensorType type, int dimension);
  /// A constant of x's dtype and shape.
  Value like(Value x, double value) { return constant(value, x.type()); }

  Value abs(Value x) { return unary(Opcode::kAbs, x); }
  Value negate(Value x) { return unary(Opcode::kNegate, x); }
  Value sign(Value x) { return unary(Opcode::kSign, x); }
  Value floor(Value x) { return unary(Opcode::kFloor, x); }
  Value round_nearest_even(Value x) { return unary(Opcode::kRoundNearestEven, x); }
  Value exponential(Value x) { return unary(Opcode::kExponential, x); }
  Value exponential_minus_one(Value x) { return unary(Opcode::kExponentialMinusOne, x); }
  Value log(Value x) { return unary(Opcode::kLog, x); }
  Value log_plus_one(Value x) { return unary(Opcode::kLogPlusOne, x); }
  Value logistic(Value x) { return unary(Opcode::kLogistic, x); }
  Value tanh(Value x) { return unary(Opcode::kTanh, x); }
  Value erf(Value x) { return unary(Opcode::kErf, x); }
  Value sqrt(Value x) { return unary(Opcode::kSqrt, x); }
  Value rsqrt(Value x) { return unary(Opcode::kRsqrt, x); }
  Value sine(Value x) { return unary(Opcode::kSine, x); }
  Value cosine(Value x) { return unary(Opcode::kCosine, x); }
  Value is_finite(Value x) { return unary(Opcode::kIsFinite, x); }
  Value logical_not(Value x) { return unary(Opcode::kNot, x); }
  Value convert(Value x, DType dtype);  // x itself when it has that dtype

  Value add(Value a, Value b) { return binary(Opcode::kAdd, a, b); }
  Value subtract(Value a, Value b) { return binary(Opcode::kSubtract, a, b); }
  Value multiply(Value a, Value b) { return binary(Opcode::kMultiply, a, b); }
  Value divide(Value a, Value b) { return binary(Opcode::kDivide, a, b); }
  Value maximum(Value a, Value b) { return binary(Opcode::kMaximum, a, b); }
  Value minimum(Value a, Value b) { return binary(Opcode::kMinimum, a, b); }
  Value power(Value a, Value b) { return binary(Opcode::kPower, a, b); }
  Value remainder(Value a, Value b) { return binary(Opcode::kRemainder, a, b); }
  Value logical_and(Value a, Value b) { return binary(Opcode::kAnd, a, b); }
  Value logical_or(Value a, Value b) { return binary(Opcode::kOr, a, b); }
  Value compare(Value a, Value b, CompareDirection direction);
  Value select(Value condition, Value on_true, Value on_false);
  Value square(Value x) { return multiply(x, x); }
  Value add(Value a, double b) { return add(a, scalar_like(a, b)); }
  Value subtract(Value a, double b) { return subtract(a, scalar_like(a, b)); }
  Value subtract(double a, Value b) { return subtract(scalar_like(b, a), b); }
  Value multiply(Value a, double b) { return multiply(a, scalar_like(a, b)); }
  Value divide(Value a, double b) { return divide(a, scalar_like(a, b)); }
  Value divide(double a, Value b) { return divide(scalar_like(b, a), b); }
  Value maximum(Value a, double b) { return maximum(a, scalar_like(a, b)); }
  Value minimum(Value a, double b) { return minimum(a, scalar_like(a, b)); }
  Value compare(Value a, double b, CompareDirection d) { return compare(a, scalar_like(a, b), d); }

  Value reshape(Value x, Shape shape);  // x itself when it has that shape
  Value transpose(Value x, Dims permutation);
  Value broadcast_in_dim(Value x, Shape shape, Dims dimensions);
  /// NumPy broadcasting to `shape`; x itself when it has that shape.
  Value broadcast_to(Value x, Shape shape);
  Value slice(Value x, Dims start, Dims limit, Dims strides);
  Value pad(Value x, Value value, Dims low, Dims high, Dims interior);
  Value concatenate(const std::vector<Value>& xs, int axis);
  Value reverse(Value x, Dims axes);

  Value reduce_sum(Value x, Dims axes);  // axes may be negative; they vanish
  Value reduce_max(Value x, Dims axes);
  Value reduce_mean(Value x, Dims axes);  // reduce_sum divided by the count
  Value argmax(Value x, int axis);

  Value dot_general(Value a, Value b, DotAttrs attrs);
  /// [..., k] by [k, n] -> [..., n].
  Value matmul(Value a, Value b);
  Value conv2d(Value x, Value kernel, ConvAttrs attrs);
  Value conv2d_input_gradient(Value dy, Value kernel, ConvAttrs attrs);
  Value conv2d_kernel_gradient(Value x, Value dy, ConvAttrs attrs);
  Value max_pool2d(Value x, PoolAttrs attrs);
  Value max_pool2d_gradient(Value x, Value y, Value dy, PoolAttrs attrs);
  Value avg_pool2d(Value x, PoolAttrs attrs);
  Value avg_pool2d_gradient(Value dy, PoolAttrs attrs);

  Value relu(Value x) { return unary(Opcode::kRelu, x); }
  Value relu_gradient(Value y, Value dy);
  Value elu(Value x, EluAttrs attrs);
  Value elu_gradient(Value y, Value dy, EluAttrs attrs);
  Value softmax(Value x, int axis);
  Value log_softmax(Value x, int axis);
  struct BatchNorm {
    Value y, mean, variance;
  };
  BatchNorm batch_norm_training(Value x, Value gamma, Value beta, double epsilon);
  struct BatchNormGrads {
    Value dx, dgamma, dbeta;
  };
  BatchNormGrads batch_norm_gradient(Value x, Value gamma, Value mean, Value variance, Value dy,
                                     double epsilon);
  struct Dropped {
    Value y, mask;
  };
  Dropped dropout(Value x, Value key, Value first_row, Value train_step, DropoutAttrs attrs);
  Value dropout_gradient(Value dy, Value mask, DropoutAttrs attrs);
  Value tower_sum(Value x) { return unary(Opcode::kTowerSum, x); }

  /// Appends any op; the typed functions above are preferred.
  std::vector<Value> append(Opcode opcode, const std::vector<Value>& operands,
                            Attrs attrs = NoAttrs{});

 private:
  Value unary(Opcode opcode, Value x) { return append(opcode, {x})[0]; }
  Value binary(Opcode opcode, Value a, Value b);
  Value scalar_like(Value x, double value) { return constant(value, x.dtype()); }

  Graph& graph_;
  std::string context_;
};

/// NumPy broadcast of two shapes; throws InvalidArgument naming both.
Shape broadcast_shapes(const Shape& a, const Shape& b);

}  // namespace lockstep
