// Differentiation of whole graphs; each op's own gradient is op_conformance's.
#include <gtest/gtest.h>

#include <cmath>

#include "lockstep/autodiff/vjp.h"
#include "lockstep/backend/reference/reference_backend.h"
#include "lockstep/passes/pass.h"

namespace lockstep {
namespace {

struct AutodiffTest : testing::Test {
  Graph graph;
  Builder b{graph};

  Value parameter(Shape shape, DType dtype = DType::kF32) {
    return b.parameter({dtype, std::move(shape)}, "x");
  }
  Value gradient(Value y, Value x) { return gradients(b, {{y, b.like(y, 1.0)}}, {x})[0]; }

  /// The value of a scalar node for scalar inputs.
  float at(Value value, const std::vector<float>& inputs) {
    std::vector<HostTensor> tensors;
    for (float input : inputs) tensors.push_back(HostTensor::scalar(input));
    graph.set_results({value.id});
    return evaluate(graph, tensors)[0].data<float>()[0];
  }
};

TEST_F(AutodiffTest, ChainRule) {
  const Value x = parameter({});
  // d/dx (3x)^2 = 18x
  EXPECT_FLOAT_EQ(at(gradient(b.square(b.multiply(x, 3.0)), x), {2}), 36);
}

TEST_F(AutodiffTest, ContributionsOfAllUsesAdd) {
  const Value x = parameter({}), y = parameter({});
  const Value z = b.add(b.multiply(x, y), b.add(x, x));
  EXPECT_FLOAT_EQ(at(gradient(z, x), {2, 5}), 7);
}

TEST_F(AutodiffTest, SeveralSeedsAdd) {
  const Value x = parameter({});
  const Value y = b.multiply(x, 3.0), z = b.multiply(x, 5.0);
  const Value dx = gradients(b, {{y, b.constant(1)}, {z, b.constant(10)}}, {x})[0];
  EXPECT_FLOAT_EQ(at(dx, {1}), 53);
}

TEST_F(AutodiffTest, ASeedAtTheVariableItselfPassesThrough) {
  const Value x = parameter({});
  const Value seed = b.constant(4);
  EXPECT_EQ(gradients(b, {{x, seed}}, {x})[0], seed);
}

TEST_F(AutodiffTest, IntermediateValuesMayBeWanted) {
  const Value x = parameter({});
  const Value y = b.multiply(x, 3.0);
  const auto grads = gradients(b, {{b.square(y), b.constant(1)}}, {y, x});
  EXPECT_FLOAT_EQ(at(grads[0], {2}), 12);
  EXPECT_FLOAT_EQ(at(grads[1], {2}), 36);
}

TEST_F(AutodiffTest, WhatDoesNotReachTheSeedHasNoGradient) {
  const Value x = parameter({}), unused = parameter({});
  b.square(unused);
  EXPECT_FALSE(gradients(b, {{b.square(x), b.constant(1)}}, {x, unused})[1].valid());
}

TEST_F(AutodiffTest, IntegersAndConditionsPassNoGradient) {
  const Value x = parameter({});
  const Value positive = b.compare(x, 0.0, CompareDirection::kGt);
  EXPECT_FALSE(gradient(b.convert(positive, DType::kF32), x).valid());
  EXPECT_FLOAT_EQ(at(gradient(b.select(positive, b.multiply(x, 2.0), x), x), {-1}), 1);
}

TEST_F(AutodiffTest, RulesRunOnlyOnThePathFromVariablesToSeeds) {
  const Value x = parameter({}), y = parameter({});
  // relu_gradient has no gradient, but none is wanted through it.
  const Value off_path = b.relu_gradient(y, y);
  EXPECT_FLOAT_EQ(at(gradient(b.multiply(x, off_path), x), {3, 5}), 5);
}

TEST_F(AutodiffTest, AnOpWithoutGradientIsNamedWithItsLayer) {
  const Value x = parameter({});
  b.set_context("pool");
  const Value y = b.relu_gradient(x, x);
  b.set_context("");
  try {
    gradient(y, x);
    FAIL();
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), ErrorCode::kUnsupported);
    EXPECT_STREQ(error.what(),
                 "[relu_gradient] has no gradient, and one is wanted through it (layer \"pool\")");
  }
}

TEST_F(AutodiffTest, GradientNodesCarryTheLayerOfTheirOp) {
  const Value x = parameter({2});
  b.set_context("act");
  const Value y = b.relu(x);
  b.set_context("loss");
  EXPECT_EQ(graph.producer(gradient(y, x).id).context, "act");
  EXPECT_EQ(b.set_context(""), "loss");
}

TEST_F(AutodiffTest, TheSameGraphTwiceGivesTheSameNodes) {
  const auto build = [](Graph& graph) {
    Builder b(graph);
    const Value x = b.parameter({DType::kF32, {3, 5}}, "x");
    const Value w = b.parameter({DType::kF32, {5, 2}}, "w");
    const Value y = b.softmax(b.tanh(b.matmul(x, w)), -1);
    for (Value grad : gradients(b, {{y, b.like(y, 1.0)}}, {x, w})) graph.add_result(grad);
    return graph.str();
  };
  Graph first, second;
  EXPECT_EQ(build(first), build(second));
}

TEST_F(AutodiffTest, BroadcastOperandsGetTheirSumBack) {
  const Value x = parameter({2, 3}), bias = parameter({3});
  const Value grad = gradient(b.add(x, bias), bias);
  EXPECT_EQ(grad.shape(), Shape{3});
  graph.set_results({grad.id});
  const std::vector<HostTensor> inputs{HostTensor(DType::kF32, {2, 3}),
                                       HostTensor(DType::kF32, {3})};
  EXPECT_TRUE(evaluate(graph, inputs)[0].same_bits(HostTensor::of<float>({3}, {2, 2, 2})));
}

TEST_F(AutodiffTest, TheGradientOfATowerSumIsATowerSum) {
  const Value x = parameter({3});
  const Value grad = gradient(b.square(b.tower_sum(x)), x);
  EXPECT_EQ(graph.producer(grad.id).opcode, Opcode::kTowerSum);
}

/// Ties go where TensorFlow sends them: to the first operand.
TEST_F(AutodiffTest, MaximumAndMinimumGiveTiesToTheFirst) {
  const Value x = parameter({}), y = parameter({});
  for (const Value& z : {b.maximum(x, y), b.minimum(x, y)}) {
    const auto grads = gradients(b, {{z, b.constant(1)}}, {x, y});
    EXPECT_FLOAT_EQ(at(grads[0], {2, 2}), 1);
    EXPECT_FLOAT_EQ(at(grads[1], {2, 2}), 0);
  }
}

TEST_F(AutodiffTest, ReduceMaxSharesAmongEqualMaxima) {
  const Value x = parameter({4});
  const Value grad = gradient(b.reduce_max(x, {0}), x);
  graph.set_results({grad.id});
  const HostTensor input = HostTensor::of<float>({4}, {3, 1, 3, 2});
  EXPECT_TRUE(
      evaluate(graph, {&input, 1})[0].same_bits(HostTensor::of<float>({4}, {0.5f, 0, 0.5f, 0})));
}

/// What came out of the forward pass need not equal what the gradient sees: a compiler that fuses
/// may compute the operand anew for each of its users, with other roundings.
TEST_F(AutodiffTest, ReduceMaxReachesAnElementHoweverItsOperandIsRounded) {
  const HostTensor input = HostTensor::of<float>({3, 2, 2}, {3, 1, 4, 2, 3, 1, 4, 9, 5, 1, 4, 9});
  for (const Dims& axes : {Dims{0}, Dims{1}, Dims{2}, Dims{0, 1}, Dims{0, 2}, Dims{0, 1, 2}})
    for (const double off : {0.999999, 1.000001}) {
      Graph rounded;
      Builder builder(rounded);
      const Value x = builder.parameter({DType::kF32, input.shape()}, "x");
      const Value y = builder.multiply(builder.reduce_max(x, axes), off), dy = builder.like(y, 2.0);
      const Value grad = op_def(Opcode::kReduceMax)
                             .rules()
                             .vjp({builder, AxesAttrs{axes}, {&x, 1}, {&y, 1}, {&dy, 1}})[0];
      rounded.add_result(builder.reduce_sum(grad, axes));
      rounded.add_result(builder.reduce_sum(builder.multiply(grad, x), axes));
      rounded.add_result(y);
      const std::vector<HostTensor> results = evaluate(rounded, {&input, 1});
      for (int64_t i = 0; i < results[0].size(); ++i) {
        const auto at = static_cast<size_t>(i);
        EXPECT_EQ(results[0].data<float>()[at], 2) << axes.size() << " axes, off by " << off;
        // The element that the gradient reached is a largest one.
        EXPECT_NEAR(results[1].data<float>()[at], 2 * results[2].data<float>()[at], 1e-4);
      }
    }
}

TEST_F(AutodiffTest, ReduceMaxOfNanHasNoGradient) {
  const Value x = parameter({2});
  graph.set_results({gradient(b.reduce_max(x, {0}), x).id});
  const HostTensor input = HostTensor::of<float>({2}, {std::nanf(""), 1});
  const HostTensor result = evaluate(graph, {&input, 1})[0];
  for (float value : result.data<float>()) EXPECT_TRUE(std::isnan(value));
}

TEST_F(AutodiffTest, PowerIsDefinedAtBasesThatAreNotPositive) {
  const Value x = parameter({}), p = parameter({});
  const Value y = b.power(x, p);
  const auto grads = gradients(b, {{y, b.constant(1)}}, {x, p});
  EXPECT_FLOAT_EQ(at(grads[0], {-2, 3}), 12);
  EXPECT_FLOAT_EQ(at(grads[1], {-2, 3}), 0);
  EXPECT_FLOAT_EQ(at(grads[1], {0, 2}), 0);
}

TEST_F(AutodiffTest, ReluAndAbsHaveNoSlopeAtZero) {
  const Value x = parameter({});
  EXPECT_FLOAT_EQ(at(gradient(b.relu(x), x), {0}), 0);
  EXPECT_FLOAT_EQ(at(gradient(b.abs(x), x), {0}), 0);
}

/// A rule may also compute gradients nobody asked for; simplify drops them.
TEST_F(AutodiffTest, UnwantedGradientsCostNothingAfterSimplify) {
  const Value x = parameter({3, 5}), w = parameter({5, 2});
  graph.add_result(gradient(b.matmul(x, w), w));
  int dots = 0;
  const auto simplified = simplify(graph);
  for (const Node& node : simplified->nodes()) dots += node.opcode == Opcode::kDotGeneral;
  EXPECT_EQ(dots, 1);
}

}  // namespace
}  // namespace lockstep
