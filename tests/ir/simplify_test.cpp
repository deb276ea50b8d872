// simplify: each rewrite on a hand graph, what must not be rewritten, and random graphs whose
// results keep their bits.
#include <gtest/gtest.h>

#include <chrono>

#include "lockstep/backend/reference/reference_backend.h"
#include "lockstep/passes/pass.h"
#include "lockstep/tensor/philox.h"

namespace lockstep {
namespace {

constexpr DType kF32 = DType::kF32;

int count(const Graph& graph, Opcode opcode) {
  const auto& nodes = graph.nodes();
  return static_cast<int>(std::count_if(nodes.begin(), nodes.end(),
                                        [&](const Node& node) { return node.opcode == opcode; }));
}

bool same_graph(const Graph& a, const Graph& b) {
  if (a.nodes().size() != b.nodes().size() || a.results() != b.results()) return false;
  for (size_t i = 0; i < a.nodes().size(); ++i) {
    const Node &x = a.nodes()[i], &y = b.nodes()[i];
    if (x.opcode != y.opcode || x.operands != y.operands || !(x.attrs == y.attrs) ||
        x.context != y.context)
      return false;
  }
  return true;
}

HostTensor random_tensor(const TensorType& type, PhiloxStream& stream) {
  HostTensor tensor(type);
  for (float& value : tensor.data<float>()) value = static_cast<float>(stream.uniform() * 4 - 2);
  return tensor;
}

/// A graph over one parameter x of f32[2,3], and its simplification.
class SimplifyTest : public testing::Test {
 protected:
  const Graph& simplified(Value result) {
    graph.set_results({result.id});
    simpler = simplify(graph);
    return *simpler;
  }
  /// The result is the parameter itself and nothing else is left.
  bool becomes_x(Value result) {
    const Graph& got = simplified(result);
    return got.nodes().size() == 1 && got.results() == got.parameters();
  }

  Graph graph;
  Builder b{graph};
  Value x = b.parameter({kF32, {2, 3}}, "x");
  std::unique_ptr<Graph> simpler;
};

TEST_F(SimplifyTest, DropsWhatNoResultNeedsButNoParameter) {
  const Value unused = b.parameter({kF32, {7}}, "unused", ParameterRole::kWeight);
  b.exponential(unused);
  const Graph& got = simplified(b.tanh(x));
  EXPECT_EQ(got.nodes().size(), 3u);
  ASSERT_EQ(got.parameters().size(), 2u);
  EXPECT_EQ(got.parameter(1), graph.parameter(1));
}

TEST_F(SimplifyTest, MergesEqualNodesOfEqualAttributes) {
  const Value sum = b.add(b.tanh(x), b.tanh(x));
  EXPECT_EQ(count(simplified(sum), Opcode::kTanh), 1);
  const Value rows = b.reduce_sum(b.transpose(x, {1, 0}), {0});
  const Value columns = b.reduce_sum(b.transpose(x, {1, 0}), {1});
  graph.set_results({rows.id, columns.id});
  const auto got = simplify(graph);
  EXPECT_EQ(count(*got, Opcode::kTranspose), 1);
  EXPECT_EQ(count(*got, Opcode::kReduceSum), 2);
}

TEST_F(SimplifyTest, KeepsOrderOfOperands) {
  const Value y = b.tanh(x);
  const Value sum = b.add(b.subtract(x, y), b.subtract(y, x));
  EXPECT_EQ(count(simplified(sum), Opcode::kSubtract), 2);
}

TEST_F(SimplifyTest, DropsIdentities) {
  EXPECT_TRUE(becomes_x(b.multiply(x, 1.0)));
  EXPECT_TRUE(becomes_x(b.multiply(b.like(x, 1.0), x)));
  EXPECT_TRUE(becomes_x(b.divide(x, 1.0)));
  EXPECT_TRUE(becomes_x(b.subtract(x, 0.0)));
  EXPECT_TRUE(becomes_x(b.negate(b.negate(x))));
  EXPECT_TRUE(becomes_x(b.transpose(x, {0, 1})));
  EXPECT_TRUE(becomes_x(b.broadcast_in_dim(x, {2, 3}, {0, 1})));
  EXPECT_TRUE(becomes_x(b.append(Opcode::kConvert, {x}, ConvertAttrs{kF32})[0]));
  EXPECT_TRUE(becomes_x(b.append(Opcode::kReshape, {x}, ReshapeAttrs{{2, 3}})[0]));
  EXPECT_TRUE(becomes_x(b.reshape(b.reshape(b.reshape(x, {6}), {3, 2}), {2, 3})));
}

TEST_F(SimplifyTest, FindsTheIdentityBehindALargeBroadcast) {
  const Value wide = b.parameter({kF32, {64, 64}}, "wide");
  EXPECT_EQ(count(simplified(b.multiply(wide, 1.0)), Opcode::kMultiply), 0);
}

TEST_F(SimplifyTest, KeepsWhatWouldChangeABit) {
  EXPECT_EQ(count(simplified(b.add(x, 0.0)), Opcode::kAdd), 1);  // -0 + 0 is 0
  EXPECT_EQ(count(simplified(b.subtract(x, -0.0)), Opcode::kSubtract), 1);
  EXPECT_EQ(count(simplified(b.multiply(x, 0.0)), Opcode::kMultiply), 1);  // NaN * 0 is NaN
  EXPECT_EQ(count(simplified(b.subtract(x, x)), Opcode::kSubtract), 1);
  EXPECT_EQ(count(simplified(b.divide(x, 3.0)), Opcode::kDivide), 1);
  EXPECT_EQ(count(simplified(b.divide(1.0, x)), Opcode::kDivide), 1);
  EXPECT_EQ(count(simplified(b.subtract(0.0, x)), Opcode::kSubtract), 1);
  EXPECT_EQ(count(simplified(b.add(b.add(x, 1.0), 2.0)), Opcode::kAdd), 2);
}

TEST_F(SimplifyTest, FoldsConstantsInTheirOwnDtype) {
  const Value third = b.divide(b.constant(1.0), 3.0);
  const Value sum = b.add(third, b.constant(1.0));
  const Graph& got = simplified(b.multiply(x, sum));
  EXPECT_EQ(count(got, Opcode::kAdd) + count(got, Opcode::kDivide), 0);
  EXPECT_EQ(count(got, Opcode::kBroadcastInDim), 0);
  ASSERT_EQ(count(got, Opcode::kConstant), 1);
  const auto& folded = got.producer(got.producer(got.results()[0]).operands[1]).as<ConstantAttrs>();
  EXPECT_EQ(folded.type, x.type());
  ASSERT_TRUE(folded.is_splat());  // one element still stands for all
  EXPECT_EQ(folded.value.data<float>()[0], 1.0f / 3.0f + 1.0f);
}

TEST_F(SimplifyTest, FoldsVectorsToVectors) {
  const Value vector = b.constant(HostTensor::of<float>({3}, {1, 2, 4}));
  const Graph& got = simplified(b.reverse(b.square(vector), {0}));
  ASSERT_EQ(count(got, Opcode::kConstant), 1);
  EXPECT_TRUE(got.producer(got.results()[0])
                  .as<ConstantAttrs>()
                  .value.same_bits(HostTensor::of<float>({3}, {16, 4, 1})));
}

TEST_F(SimplifyTest, FoldsNothingLarge) {
  const Value large = b.broadcast_to(b.constant(2.0), {1025});
  EXPECT_EQ(count(simplified(b.exponential(large)), Opcode::kExponential), 1);
  const Value exact = b.broadcast_to(b.constant(2.0), {1024});
  EXPECT_EQ(count(simplified(b.exponential(exact)), Opcode::kExponential), 0);
}

TEST_F(SimplifyTest, KeepsANodeOfSeveralResultsForOne) {
  const Value ones = b.constant(1.0, {kF32, {3}});
  const auto norm = b.batch_norm_training(x, ones, ones, 1e-3);
  const auto again = b.batch_norm_training(x, ones, ones, 1e-3);
  const auto other = b.batch_norm_training(x, ones, ones, 1e-2);
  graph.set_results({again.variance.id, other.variance.id});
  const auto got = simplify(graph);
  ASSERT_EQ(count(*got, Opcode::kBatchNormTraining), 2);
  for (int result : got->results()) EXPECT_EQ(got->result_index(result), 2);
  EXPECT_TRUE(norm.y.valid());
}

TEST_F(SimplifyTest, KeepsContexts) {
  b.set_context("dense_1");
  const Value y = b.tanh(x);
  b.set_context("dense_2");
  const Graph& got = simplified(b.negate(b.multiply(y, 1.0)));
  EXPECT_EQ(got.nodes()[1].context, "dense_1");
  EXPECT_EQ(got.nodes()[2].context, "dense_2");
}

TEST_F(SimplifyTest, MeetsEachOfManyConstantsOnce) {
  Value sum = x;
  constexpr int kConstants = 20000;
  for (int i = 0; i < kConstants; ++i) sum = b.add(sum, b.like(x, i));
  const auto start = std::chrono::steady_clock::now();
  EXPECT_EQ(count(simplified(sum), Opcode::kConstant), kConstants);
  // 0.4 s on two busy cores; a walk over all constants at each of them took 28.
  EXPECT_LT(std::chrono::steady_clock::now() - start, std::chrono::seconds(10));
}

/// Random elementwise, movement and reduction nodes over values of f32[2,3] and small constants.
void grow(Builder& b, std::vector<Value>& values, PhiloxStream& stream) {
  const auto pick = [&] { return values[stream.below(values.size())]; };
  const double numbers[] = {-0.0, 0.0, 1.0, -1.0, 0.5, 3.0};
  const double number = numbers[stream.below(std::size(numbers))];
  switch (stream.below(12)) {
    case 0:
      return values.push_back(b.add(pick(), pick()));
    case 1:
      return values.push_back(b.subtract(pick(), number));
    case 2:
      return values.push_back(b.multiply(pick(), number));
    case 3:
      return values.push_back(b.divide(pick(), number));
    case 4:
      return values.push_back(b.negate(pick()));
    case 5:
      return values.push_back(b.reshape(b.reshape(pick(), {3, 2}), {2, 3}));
    case 6:
      return values.push_back(b.transpose(b.transpose(pick(), {1, 0}), {1, 0}));
    case 7:
      return values.push_back(b.broadcast_to(b.reduce_sum(pick(), {0}), {2, 3}));
    case 8:
      return values.push_back(b.like(pick(), number));
    case 9:
      return values.push_back(b.multiply(b.multiply(pick(), pick()), b.constant(number)));
    case 10:
      return values.push_back(b.softmax(pick(), 1));
    default:
      return values.push_back(
          b.select(b.compare(pick(), number, CompareDirection::kGt), pick(), pick()));
  }
}

TEST(SimplifyRandom, KeepsEveryBitAndIsIdempotent) {
  for (uint64_t seed = 0; seed < 200; ++seed) {
    PhiloxStream stream(philox_key(seed, RandomPurpose::kInit, "graph"));
    Graph graph;
    Builder b(graph);
    std::vector<Value> values;
    for (int i = 0; i < 3; ++i) values.push_back(b.parameter({kF32, {2, 3}}, "p"));
    for (int i = 0; i < 40; ++i) grow(b, values, stream);
    for (int i = 0; i < 4; ++i) graph.add_result(values[values.size() - 1 - stream.below(12)]);
    std::vector<HostTensor> inputs;
    for (int parameter : graph.parameters())
      inputs.push_back(random_tensor(graph.type(parameter), stream));

    const auto once = simplify(graph);
    const auto twice = simplify(*once);
    EXPECT_TRUE(same_graph(*once, *twice)) << seed << "\n" << once->str() << twice->str();
    EXPECT_LE(once->nodes().size(), graph.nodes().size());
    const auto want = evaluate(graph, inputs), got = evaluate(*once, inputs);
    for (size_t i = 0; i < want.size(); ++i)
      EXPECT_TRUE(got[i].same_bits(want[i])) << seed << " result " << i << "\n" << graph.str();
  }
}

}  // namespace
}  // namespace lockstep
