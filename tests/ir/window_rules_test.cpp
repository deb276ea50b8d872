// Convolution, pooling, normalisation and softmax: values worked out by hand, and what is said when
// operands do not fit.
#include <gtest/gtest.h>

#include "lockstep/backend/reference/reference_backend.h"
#include "lockstep/ir/builder.h"

namespace lockstep {
namespace {

constexpr DType kF32 = DType::kF32;

TensorType f32(const Shape& shape) {
  return {kF32, shape};
}

/// Results of one op for these operands.
std::vector<HostTensor> evaluated(Opcode opcode, const std::vector<HostTensor>& operands,
                                  const Attrs& attrs) {
  Graph graph;
  Builder b(graph);
  std::vector<Value> parameters;
  for (const HostTensor& operand : operands) parameters.push_back(b.parameter(operand.type(), "x"));
  for (const Value& result : b.append(opcode, parameters, attrs)) graph.add_result(result);
  return evaluate(graph, operands);
}

void expect_values(const HostTensor& got, const Shape& shape, std::initializer_list<float> want) {
  EXPECT_TRUE(got.same_bits(HostTensor::of<float>(shape, want))) << got.type().str();
}

std::string refusal(Opcode opcode, const std::vector<TensorType>& operands, const Attrs& attrs) {
  try {
    op_def(opcode).rules().infer(operands, attrs);
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), ErrorCode::kInvalidArgument);
    return error.what();
  }
  return "accepted";
}

void expect_refusal(const std::string& message, const std::string& part) {
  EXPECT_NE(message.find(part), std::string::npos) << message;
}

TEST(Convolution, MultipliesWithoutFlippingTheKernel) {
  const HostTensor x = HostTensor::of<float>({1, 2, 3, 1}, {1, 2, 3, 4, 5, 6});
  const HostTensor kernel = HostTensor::of<float>({2, 2, 1, 1}, {1, 10, 100, 1000});
  expect_values(evaluated(Opcode::kConv2d, {x, kernel}, ConvAttrs{})[0], {1, 1, 2, 1},
                {1 + 20 + 400 + 5000, 2 + 30 + 500 + 6000});
  // Padding below and right alone, as "same" does for an even kernel.
  expect_values(evaluated(Opcode::kConv2d, {x, kernel}, ConvAttrs{.pad_high = {1, 1}})[0],
                {1, 2, 3, 1}, {5421, 6532, 603, 54, 65, 6});
}

TEST(Convolution, GroupsSeeTheirOwnChannels) {
  const HostTensor x = HostTensor::of<float>({1, 1, 1, 4}, {1, 2, 3, 4});
  const HostTensor kernel = HostTensor::of<float>({1, 1, 2, 2}, {1, 5, 10, 50});
  expect_values(evaluated(Opcode::kConv2d, {x, kernel}, ConvAttrs{.groups = 2})[0], {1, 1, 1, 2},
                {1 + 20, 15 + 200});
}

TEST(Convolution, NamesTheShapesThatDoNotFit) {
  const TensorType x = f32({2, 5, 5, 4}), kernel = f32({3, 3, 4, 6});
  const Opcode conv = Opcode::kConv2d;
  expect_refusal(refusal(conv, {x, f32({3, 3, 3, 6})}, ConvAttrs{}),
                 "[conv2d] channels must match: images [2,5,5,4] have 4, kernel [3,3,3,6] takes 3");
  expect_refusal(refusal(conv, {f32({2, 20}), kernel}, ConvAttrs{}), "must have rank 4: [2,20]");
  expect_refusal(refusal(conv, {x, f32({3, 3, 2, 5})}, ConvAttrs{.groups = 2}),
                 "filters must be a multiple of the 2 groups: 5");
  expect_refusal(refusal(conv, {x, f32({7, 3, 4, 6})}, ConvAttrs{}),
                 "kernel must fit into the padded images: kernel [7,3,4,6]");
  expect_refusal(refusal(conv, {x, kernel}, ConvAttrs{.dilation = {3, 1}}), "with dilation 3x1");
  expect_refusal(refusal(conv, {x, f32({0, 3, 4, 6})}, ConvAttrs{}), "kernel must not be empty");
  expect_refusal(refusal(conv, {x, kernel}, ConvAttrs{.strides = {1, 0}}),
                 "strides and dilation must be >= 1: 0 and 1 (axis 2)");
  expect_refusal(refusal(conv, {x, kernel}, ConvAttrs{.pad_low = {-1, 0}}),
                 "padding must be >= 0: -1 and 0 (axis 1)");
  expect_refusal(refusal(conv, {x, kernel}, ConvAttrs{.groups = 0}), "groups must be >= 1: 0");
  expect_refusal(refusal(conv, {{DType::kS32, x.shape}, kernel}, ConvAttrs{}), "f32 or f64");
  expect_refusal(refusal(conv, {x, {DType::kF64, kernel.shape}}, ConvAttrs{}), "one dtype");
}

TEST(Convolution, GradientsNameTheCotangentTheyWant) {
  const Shape x{2, 5, 5, 4}, kernel{3, 3, 4, 6};
  const TensorType wrong = f32({2, 4, 4, 6});
  expect_refusal(refusal(Opcode::kConv2dInputGradient, {wrong, f32(kernel)}, ConvAttrs{.shape = x}),
                 "[conv2d_input_gradient] cotangent must be [2,3,3,6]: [2,4,4,6]");
  expect_refusal(
      refusal(Opcode::kConv2dKernelGradient, {f32(x), wrong}, ConvAttrs{.shape = kernel}),
      "[conv2d_kernel_gradient] cotangent must be [2,3,3,6]: [2,4,4,6]");
}

TEST(Pooling, PaddingTakesNoPart) {
  const HostTensor x = HostTensor::of<float>({1, 2, 2, 1}, {-1, -2, -3, -6});
  const PoolAttrs attrs{.window = {2, 2}, .strides = {1, 1}, .pad_high = {1, 1}};
  expect_values(evaluated(Opcode::kMaxPool2d, {x}, attrs)[0], {1, 2, 2, 1}, {-1, -2, -3, -6});
  expect_values(evaluated(Opcode::kAvgPool2d, {x}, attrs)[0], {1, 2, 2, 1}, {-3, -4, -4.5, -6});
}

TEST(Pooling, TheFirstLargestTakesTheGradient) {
  const HostTensor x = HostTensor::of<float>({1, 2, 3, 1}, {0, 7, 1, 7, 7, 7});
  const HostTensor y = HostTensor::of<float>({1, 1, 2, 1}, {7, 7});
  const HostTensor dy = HostTensor::of<float>({1, 1, 2, 1}, {1, 10});
  expect_values(evaluated(Opcode::kMaxPool2dGradient, {x, y, dy}, PoolAttrs{.window = {2, 2}})[0],
                {1, 2, 3, 1}, {0, 11, 0, 0, 0, 0});
}

TEST(Pooling, NamesTheOpAndWhatDoesNotFit) {
  const TensorType x = f32({1, 3, 3, 2});
  expect_refusal(
      refusal(Opcode::kMaxPool2d, {x}, PoolAttrs{.window = {4, 1}}),
      "[max_pool2d] window must fit into the padded images: 4 on axis 1, images [1,3,3,2]");
  expect_refusal(refusal(Opcode::kAvgPool2d, {f32({3, 3})}, PoolAttrs{}),
                 "[avg_pool2d] images must have rank 4: [3,3]");
  expect_refusal(refusal(Opcode::kMaxPool2d, {x}, PoolAttrs{.window = {2, 2}, .pad_low = {0, 2}}),
                 "padding must be in [0, 2), the window: 2 and 0 (axis 2)");
  expect_refusal(refusal(Opcode::kMaxPool2d, {x}, PoolAttrs{.strides = {0, 1}}),
                 "window and strides must be >= 1: 1 and 0 (axis 1)");
  expect_refusal(
      refusal(Opcode::kMaxPool2dGradient, {x, f32({1, 2, 2, 2}), x}, PoolAttrs{.window = {2, 2}}),
      "result and cotangent must be f32[1,2,2,2]: f32[1,3,3,2]");
  expect_refusal(
      refusal(Opcode::kAvgPool2dGradient, {x}, PoolAttrs{.window = {2, 2}, .shape = {1, 3, 3, 2}}),
      "cotangent must have shape [1,2,2,2]: f32[1,3,3,2]");
}

TEST(BatchNorm, GivesBiasedStatistics) {
  const HostTensor x = HostTensor::of<float>({2, 2}, {1, 5, 3, 5});
  const HostTensor gamma = HostTensor::of<float>({2}, {2, 2}),
                   beta = HostTensor::of<float>({2}, {1, 4});
  const auto got = evaluated(Opcode::kBatchNormTraining, {x, gamma, beta}, EpsilonAttrs{3.0});
  expect_values(got[0], {2, 2}, {0, 4, 2, 4});
  expect_values(got[1], {2}, {2, 5});
  expect_values(got[2], {2}, {1, 0});
}

TEST(BatchNorm, NamesTheVectorThatDoesNotFit) {
  const TensorType x = f32({4, 3}), good = f32({3}), bad = f32({4});
  expect_refusal(refusal(Opcode::kBatchNormTraining, {x, good, bad}, EpsilonAttrs{}),
                 "scale, shift and statistics must be f32[3]: f32[4] (operand f32[4,3])");
  expect_refusal(refusal(Opcode::kBatchNormTraining, {f32({0, 3}), good, good}, EpsilonAttrs{}),
                 "not empty: f32[0,3]");
  expect_refusal(refusal(Opcode::kBatchNormGradient, {x, good, bad, good, x}, EpsilonAttrs{}),
                 "[batch_norm_gradient] scale, shift");
  expect_refusal(
      refusal(Opcode::kBatchNormGradient, {x, good, good, good, f32({3, 3})}, EpsilonAttrs{}),
      "one type: f32[4,3] and f32[3,3]");
}

TEST(Softmax, StaysFiniteFarFromZero) {
  const HostTensor x = HostTensor::of<float>({1, 2}, {-1e30f, 1e30f});
  expect_values(evaluated(Opcode::kSoftmax, {x}, AxisAttrs{1})[0], {1, 2}, {0, 1});
  expect_values(evaluated(Opcode::kLogSoftmax, {x}, AxisAttrs{1})[0], {1, 2}, {-2e30f, 0});
}

TEST(Softmax, NamesTheOpAndTheAxis) {
  expect_refusal(refusal(Opcode::kSoftmax, {f32({2, 3})}, AxisAttrs{2}),
                 "[softmax] axis must be below the rank of f32[2,3]: 2");
  expect_refusal(refusal(Opcode::kLogSoftmax, {{DType::kS32, {2, 3}}}, AxisAttrs{1}),
                 "[log_softmax]");
}

}  // namespace
}  // namespace lockstep
