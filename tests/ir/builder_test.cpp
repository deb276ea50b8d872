// What the builder adds to the graph: broadcasting, axes, identities, context, printing.
#include "lockstep/ir/builder.h"

#include <gtest/gtest.h>

#include "lockstep/backend/reference/reference_backend.h"

namespace lockstep {
namespace {

struct BuilderTest : testing::Test {
  Graph graph;
  Builder b{graph};

  Value parameter(Shape shape, DType dtype = DType::kF32) {
    return b.parameter({dtype, std::move(shape)}, "x");
  }
};

TEST(BroadcastShapes, AlignsAtTheLastAxis) {
  EXPECT_EQ(broadcast_shapes({3, 1}, {4}), (Shape{3, 4}));
  EXPECT_EQ(broadcast_shapes({}, {2, 3}), (Shape{2, 3}));
  EXPECT_EQ(broadcast_shapes({5, 1, 3}, {4, 1}), (Shape{5, 4, 3}));
  EXPECT_EQ(broadcast_shapes({1}, {0}), Shape{0});
}

TEST(BroadcastShapes, NamesBothShapes) {
  try {
    broadcast_shapes({2, 3}, {4});
    FAIL();
  } catch (const Error& error) {
    EXPECT_STREQ(error.what(),
                 "[broadcast] shapes must match or be 1 from the last axis on: [2,3] and [4]");
  }
}

TEST_F(BuilderTest, BinaryOpsHoldEqualShapesInTheGraph) {
  const Value sum = b.add(parameter({3, 1}), parameter({4}));
  EXPECT_EQ(sum.shape(), (Shape{3, 4}));
  for (int operand : graph.producer(sum.id).operands)
    EXPECT_EQ(graph.type(operand).shape, (Shape{3, 4}));
}

TEST_F(BuilderTest, SelectBroadcastsAllThree) {
  const Value result = b.select(parameter({2, 1}, DType::kBool), parameter({3}), parameter({}));
  EXPECT_EQ(result.shape(), (Shape{2, 3}));
}

TEST_F(BuilderTest, ScalarsTakeTheOperandsDtype) {
  EXPECT_EQ(b.multiply(parameter({2}, DType::kF64), 0.5).dtype(), DType::kF64);
  EXPECT_EQ(b.constant(1, DType::kS32).dtype(), DType::kS32);
}

TEST_F(BuilderTest, WhatChangesNothingAddsNoNode) {
  const Value x = parameter({2, 3});
  EXPECT_EQ(b.reshape(x, {2, 3}), x);
  EXPECT_EQ(b.convert(x, DType::kF32), x);
  EXPECT_EQ(b.broadcast_to(x, {2, 3}), x);
  EXPECT_EQ(b.concatenate({x}, 0), x);
  EXPECT_EQ(b.reduce_sum(x, {}), x);
  EXPECT_EQ(graph.nodes().size(), 1u);
}

TEST_F(BuilderTest, NegativeAxesCountFromTheEnd) {
  const Value x = parameter({2, 3, 4});
  EXPECT_EQ(b.reduce_sum(x, {-1}).shape(), (Shape{2, 3}));
  EXPECT_EQ(b.reduce_max(x, {-1, 0}).shape(), (Shape{3}));
  EXPECT_EQ(b.argmax(x, -2).shape(), (Shape{2, 4}));
  EXPECT_EQ(b.concatenate({x, x}, -1).shape(), (Shape{2, 3, 8}));
  EXPECT_EQ(graph.producer(b.softmax(x, -1).id).as<AxisAttrs>().axis, 2);
}

TEST_F(BuilderTest, AnAxisNamedTwiceIsRefused) {
  EXPECT_THROW(b.reduce_sum(parameter({2, 3}), {1, -1}), Error);
}

TEST_F(BuilderTest, MatmulContractsTheLastAxisWithTheFirst) {
  EXPECT_EQ(b.matmul(parameter({2, 3, 5}), parameter({5, 7})).shape(), (Shape{2, 3, 7}));
}

TEST_F(BuilderTest, ReduceMeanDividesByTheCount) {
  const Value x = parameter({2, 3});
  graph.add_result(b.reduce_mean(x, {1}));
  const HostTensor input = HostTensor::of<float>({2, 3}, {1, 2, 3, 4, 5, 9});
  const auto results = evaluate(graph, {&input, 1});
  EXPECT_TRUE(results[0].same_bits(HostTensor::of<float>({2}, {2, 6})));
}

TEST_F(BuilderTest, OpsOfSeveralResultsGiveThemByName) {
  const auto norm = b.batch_norm_training(parameter({4, 3}), parameter({3}), parameter({3}), 1e-3);
  EXPECT_EQ(norm.y.shape(), (Shape{4, 3}));
  EXPECT_EQ(norm.variance.shape(), Shape{3});
  const auto dropped = b.dropout(parameter({4, 20}), parameter({2}, DType::kU32),
                                 parameter({}, DType::kU32), parameter({}, DType::kU32), {0.5, 1});
  EXPECT_EQ(dropped.mask.type().str(), "ui16[4,2]");
}

TEST_F(BuilderTest, ContextNamesTheLayerInNodesAndErrors) {
  const Value x = parameter({2, 3});
  EXPECT_EQ(b.set_context("fc"), "");
  EXPECT_EQ(graph.producer(b.relu(x).id).context, "fc");
  try {
    b.matmul(x, x);
    FAIL();
  } catch (const Error& error) {
    EXPECT_STREQ(error.what(),
                 "[dot_general] contracting sizes must match: lhs f32[2,3] axis 1 = 3, rhs "
                 "f32[2,3] axis 0 = 2 (layer \"fc\")");
  }
  EXPECT_EQ(b.set_context(""), "fc");
}

TEST_F(BuilderTest, GraphPrintsOneNodeALine) {
  const Value x = parameter({2, 3});
  b.set_context("act");
  graph.add_result(b.relu(x));
  EXPECT_EQ(graph.str(),
            "%0 = parameter : f32[2,3]\n"
            "%1 = relu %0 : f32[2,3]  # act\n"
            "return %1\n");
}

TEST_F(BuilderTest, UsesCountOperandsAndResults) {
  const Value x = parameter({2});
  const Value y = b.multiply(x, x);
  graph.add_result(y);
  graph.add_result(y);
  EXPECT_EQ(graph.use_counts(), (std::vector<int>{2, 2}));
}

}  // namespace
}  // namespace lockstep
