#include "lockstep/ir/builder.h"

#include <algorithm>

namespace lockstep {
namespace {

Dims normalized(Dims axes, int rank, const char* op) {
  for (int64_t& axis : axes) {
    if (axis < -rank || axis >= rank)
      invalid_argument(op, "axis must be in [{}, {}): {}", -rank, rank, axis);
    if (axis < 0) axis += rank;
  }
  std::sort(axes.begin(), axes.end());
  if (std::adjacent_find(axes.begin(), axes.end()) != axes.end())
    invalid_argument(op, "each axis may be named once");
  return axes;
}

}  // namespace

Shape broadcast_shapes(const Shape& a, const Shape& b) {
  Dims dims(static_cast<size_t>(std::max(a.rank(), b.rank())), 1);
  for (int i = 1; i <= static_cast<int>(dims.size()); ++i) {
    const int64_t x = i <= a.rank() ? a[a.rank() - i] : 1;
    const int64_t y = i <= b.rank() ? b[b.rank() - i] : 1;
    if (x != y && x != 1 && y != 1)
      invalid_argument("broadcast", "shapes must match or be 1 from the last axis on: {} and {}",
                       a.str(), b.str());
    dims[dims.size() - static_cast<size_t>(i)] = x == 1 ? y : x;
  }
  return Shape(std::move(dims));
}

std::vector<Value> Builder::append(Opcode opcode, const std::vector<Value>& operands, Attrs attrs) {
  std::vector<int> ids;
  for (const Value& operand : operands) {
    LOCKSTEP_CHECK(operand.graph == &graph_);
    ids.push_back(operand.id);
  }
  const Node& node = graph_.append(opcode, std::move(ids), std::move(attrs), context_);
  std::vector<Value> results;
  for (int result : node.results) results.push_back({&graph_, result});
  return results;
}

Value Builder::parameter(TensorType type, std::string name, ParameterRole role) {
  const int index = static_cast<int>(graph_.parameters().size());
  return append(Opcode::kParameter, {},
                ParameterAttrs{index, std::move(name), role, std::move(type)})[0];
}

Value Builder::constant(double value, TensorType type) {
  HostTensor element(type.dtype, Shape{});
  dispatch(type.dtype, [&]<class T>() { element.data<T>()[0] = static_cast<T>(value); });
  return append(Opcode::kConstant, {}, ConstantAttrs{std::move(type), std::move(element)})[0];
}

Value Builder::constant(HostTensor value) {
  TensorType type = value.type();
  return append(Opcode::kConstant, {}, ConstantAttrs{std::move(type), std::move(value)})[0];
}

Value Builder::iota(TensorType type, int dimension) {
  return append(Opcode::kIota, {}, IotaAttrs{std::move(type), dimension})[0];
}

Value Builder::convert(Value x, DType dtype) {
  return x.dtype() == dtype ? x : append(Opcode::kConvert, {x}, ConvertAttrs{dtype})[0];
}

Value Builder::binary(Opcode opcode, Value a, Value b) {
  const Shape shape = broadcast_shapes(a.shape(), b.shape());
  return append(opcode, {broadcast_to(a, shape), broadcast_to(b, shape)})[0];
}

Value Builder::compare(Value a, Value b, CompareDirection direction) {
  const Shape shape = broadcast_shapes(a.shape(), b.shape());
  return append(Opcode::kCompare, {broadcast_to(a, shape), broadcast_to(b, shape)},
                CompareAttrs{direction})[0];
}

Value Builder::select(Value condition, Value on_true, Value on_false) {
  const Shape shape =
      broadcast_shapes(condition.shape(), broadcast_shapes(on_true.shape(), on_false.shape()));
  return append(Opcode::kSelect, {broadcast_to(condition, shape), broadcast_to(on_true, shape),
                                  broadcast_to(on_false, shape)})[0];
}

Value Builder::reshape(Value x, Shape shape) {
  return x.shape() == shape ? x : append(Opcode::kReshape, {x}, ReshapeAttrs{std::move(shape)})[0];
}

Value Builder::transpose(Value x, Dims permutation) {
  return append(Opcode::kTranspose, {x}, TransposeAttrs{std::move(permutation)})[0];
}

Value Builder::broadcast_in_dim(Value x, Shape shape, Dims dimensions) {
  return append(Opcode::kBroadcastInDim, {x},
                BroadcastAttrs{std::move(shape), std::move(dimensions)})[0];
}

Value Builder::broadcast_to(Value x, Shape shape) {
  if (x.shape() == shape) return x;
  const int offset = shape.rank() - x.shape().rank();
  if (offset < 0 || broadcast_shapes(x.shape(), shape) != shape)
    invalid_argument("broadcast", "{} does not broadcast to {}", x.type().str(), shape.str());
  Dims dimensions;
  for (int axis = 0; axis < x.shape().rank(); ++axis) dimensions.push_back(axis + offset);
  return broadcast_in_dim(x, std::move(shape), std::move(dimensions));
}

Value Builder::slice(Value x, Dims start, Dims limit, Dims strides) {
  return append(Opcode::kSlice, {x},
                SliceAttrs{std::move(start), std::move(limit), std::move(strides)})[0];
}

Value Builder::pad(Value x, Value value, Dims low, Dims high, Dims interior) {
  return append(Opcode::kPad, {x, value},
                PadAttrs{std::move(low), std::move(high), std::move(interior)})[0];
}

Value Builder::concatenate(const std::vector<Value>& xs, int axis) {
  if (xs.empty()) invalid_argument("concatenate", "at least one operand expected: none came");
  const int rank = xs[0].shape().rank();
  const Dims axes = normalized({axis}, rank, "concatenate");
  return xs.size() == 1 ? xs[0]
                        : append(Opcode::kConcatenate, xs, AxisAttrs{static_cast<int>(axes[0])})[0];
}

Value Builder::reverse(Value x, Dims axes) {
  return append(Opcode::kReverse, {x},
                AxesAttrs{normalized(std::move(axes), x.shape().rank(), "reverse")})[0];
}

Value Builder::reduce_sum(Value x, Dims axes) {
  if (axes.empty()) return x;
  return append(Opcode::kReduceSum, {x},
                AxesAttrs{normalized(std::move(axes), x.shape().rank(), "reduce_sum")})[0];
}

Value Builder::reduce_max(Value x, Dims axes) {
  if (axes.empty()) return x;
  return append(Opcode::kReduceMax, {x},
                AxesAttrs{normalized(std::move(axes), x.shape().rank(), "reduce_max")})[0];
}

Value Builder::reduce_mean(Value x, Dims axes) {
  const Value sum = reduce_sum(x, std::move(axes));
  return divide(sum,
                static_cast<double>(x.shape().size()) / static_cast<double>(sum.shape().size()));
}

Value Builder::argmax(Value x, int axis) {
  const Dims axes = normalized({axis}, x.shape().rank(), "argmax");
  return append(Opcode::kArgMax, {x}, AxisAttrs{static_cast<int>(axes[0])})[0];
}

Value Builder::dot_general(Value a, Value b, DotAttrs attrs) {
  return append(Opcode::kDotGeneral, {a, b}, std::move(attrs))[0];
}

Value Builder::matmul(Value a, Value b) {
  return dot_general(a, b, {{}, {}, {a.shape().rank() - 1}, {0}});
}

Value Builder::conv2d(Value x, Value kernel, ConvAttrs attrs) {
  return append(Opcode::kConv2d, {x, kernel}, std::move(attrs))[0];
}
Value Builder::conv2d_input_gradient(Value dy, Value kernel, ConvAttrs attrs) {
  return append(Opcode::kConv2dInputGradient, {dy, kernel}, std::move(attrs))[0];
}
Value Builder::conv2d_kernel_gradient(Value x, Value dy, ConvAttrs attrs) {
  return append(Opcode::kConv2dKernelGradient, {x, dy}, std::move(attrs))[0];
}
Value Builder::max_pool2d(Value x, PoolAttrs attrs) {
  return append(Opcode::kMaxPool2d, {x}, std::move(attrs))[0];
}
Value Builder::max_pool2d_gradient(Value x, Value y, Value dy, PoolAttrs attrs) {
  return append(Opcode::kMaxPool2dGradient, {x, y, dy}, std::move(attrs))[0];
}
Value Builder::avg_pool2d(Value x, PoolAttrs attrs) {
  return append(Opcode::kAvgPool2d, {x}, std::move(attrs))[0];
}
Value Builder::avg_pool2d_gradient(Value dy, PoolAttrs attrs) {
  return append(Opcode::kAvgPool2dGradient, {dy}, std::move(attrs))[0];
}

Value Builder::relu_gradient(Value y, Value dy) {
  return append(Opcode::kReluGradient, {y, dy})[0];
}
Value Builder::elu(Value x, EluAttrs attrs) {
  return append(Opcode::kElu, {x}, attrs)[0];
}
Value Builder::elu_gradient(Value y, Value dy, EluAttrs attrs) {
  return append(Opcode::kEluGradient, {y, dy}, attrs)[0];
}

Value Builder::softmax(Value x, int axis) {
  const Dims axes = normalized({axis}, x.shape().rank(), "softmax");
  return append(Opcode::kSoftmax, {x}, AxisAttrs{static_cast<int>(axes[0])})[0];
}
Value Builder::log_softmax(Value x, int axis) {
  const Dims axes = normalized({axis}, x.shape().rank(), "log_softmax");
  return append(Opcode::kLogSoftmax, {x}, AxisAttrs{static_cast<int>(axes[0])})[0];
}

Builder::BatchNorm Builder::batch_norm_training(Value x, Value gamma, Value beta, double epsilon) {
  const auto r = append(Opcode::kBatchNormTraining, {x, gamma, beta}, EpsilonAttrs{epsilon});
  return {r[0], r[1], r[2]};
}
Builder::BatchNormGrads Builder::batch_norm_gradient(Value x, Value gamma, Value mean,
                                                     Value variance, Value dy, double epsilon) {
  const auto r =
      append(Opcode::kBatchNormGradient, {x, gamma, mean, variance, dy}, EpsilonAttrs{epsilon});
  return {r[0], r[1], r[2]};
}
Builder::Dropped Builder::dropout(Value x, Value key, Value first_row, Value train_step,
                                  DropoutAttrs attrs) {
  const auto r = append(Opcode::kDropout, {x, key, first_row, train_step}, attrs);
  return {r[0], r[1]};
}
Value Builder::dropout_gradient(Value dy, Value mask, DropoutAttrs attrs) {
  return append(Opcode::kDropoutGradient, {dy, mask}, attrs)[0];
}

}  // namespace lockstep
