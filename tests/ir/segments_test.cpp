// cut_segments: where nodes go, what crosses a cut, and segments run tower by tower against the
// same formula over the whole batch.
#include <gtest/gtest.h>

#include <optional>

#include "lockstep/autodiff/vjp.h"
#include "lockstep/backend/reference/reference_backend.h"
#include "lockstep/passes/pass.h"
#include "lockstep/tensor/philox.h"

namespace lockstep {
namespace {

using Tensors = std::vector<HostTensor>;
using Slots = std::vector<std::optional<HostTensor>>;
constexpr DType kF32 = DType::kF32, kF64 = DType::kF64;

HostTensor random_tensor(const Shape& shape, uint64_t seed) {
  HostTensor tensor(kF64, shape);
  PhiloxStream stream(philox_key(seed, RandomPurpose::kInit, "segments"));
  for (double& value : tensor.data<double>()) value = stream.uniform() * 2 - 1;
  return tensor;
}

HostTensor rows(const HostTensor& batch, int64_t first, int64_t count) {
  HostTensor slice(batch.dtype(), batch.shape().without_rows().with_rows(count));
  const size_t row = slice.size_bytes() / static_cast<size_t>(count);
  std::memcpy(slice.bytes(), batch.bytes() + static_cast<size_t>(first) * row, slice.size_bytes());
  return slice;
}

/// sum += term, tower by tower; an empty sum takes the first term.
void add_into(std::optional<HostTensor>& sum, const HostTensor& term) {
  if (!sum) {
    sum = term;
    return;
  }
  for (size_t i = 0; i < static_cast<size_t>(term.size()); ++i)
    sum->data<double>()[i] += term.data<double>()[i];
}

/// All towers between two exchanges.
struct Towers {
  std::vector<Tensors> inputs;
  std::vector<Slots> values, results;
  Slots exchanged;

  Tensors arguments(const Segment& segment, size_t tower) const {
    Tensors arguments;
    for (const auto& [source, position] : segment.inputs) {
      const auto index = static_cast<size_t>(position);
      switch (source) {
        case Segment::Source::kParameter:
          arguments.push_back(inputs[tower][index]);
          break;
        case Segment::Source::kValue:
          arguments.push_back(values[tower][index].value());
          break;
        case Segment::Source::kExchanged:
          arguments.push_back(exchanged[index].value());
          break;
      }
    }
    return arguments;
  }

  void run(const Segment& segment) {
    Slots sums(exchanged.size());
    for (size_t tower = 0; tower < inputs.size(); ++tower) {
      const Tensors outputs = evaluate(*segment.graph, arguments(segment, tower));
      for (size_t i = 0; i < outputs.size(); ++i) {
        const auto [target, position] = segment.outputs[i];
        const auto index = static_cast<size_t>(position);
        switch (target) {
          case Segment::Target::kResult:
            results[tower][index] = outputs[i];
            break;
          case Segment::Target::kValue:
            values[tower][index] = outputs[i];
            break;
          case Segment::Target::kExchange:
            add_into(sums[index], outputs[i]);
            break;
        }
      }
    }
    for (size_t i = 0; i < sums.size(); ++i)
      if (sums[i]) exchanged[i] = std::move(sums[i]);
  }
};

/// Runs every segment for all towers, then the exchange. Results by tower.
std::vector<Slots> run_towers(const SegmentedProgram& program, std::vector<Tensors> inputs) {
  constexpr size_t kResults = 2;
  Towers towers{std::move(inputs), {}, {}, Slots(program.exchanged_types.size())};
  towers.values.resize(towers.inputs.size(), Slots(program.value_types.size()));
  towers.results.resize(towers.inputs.size(), Slots(kResults));
  for (const Segment& segment : program.segments) towers.run(segment);
  return std::move(towers.results);
}

int count(const Segment& segment, Segment::Source source) {
  return static_cast<int>(std::count_if(segment.inputs.begin(), segment.inputs.end(),
                                        [&](const auto& input) { return input.source == source; }));
}

int count(const Segment& segment, Segment::Target target) {
  return static_cast<int>(
      std::count_if(segment.outputs.begin(), segment.outputs.end(),
                    [&](const auto& output) { return output.target == target; }));
}

int count(const Segment& segment, Opcode opcode) {
  const auto& nodes = segment.graph->nodes();
  return static_cast<int>(std::count_if(nodes.begin(), nodes.end(),
                                        [&](const Node& node) { return node.opcode == opcode; }));
}

/// (x - mean over all towers) squared and averaged over all towers: two exchanges, one after
/// another.
struct Variance {
  Value mean, variance, centred;
};
Variance global_variance(Builder& b, Value x, double batch) {
  const Value mean = b.divide(b.tower_sum(b.reduce_sum(x, {0})), batch);
  const Value centred = b.subtract(x, mean);
  return {mean, b.divide(b.tower_sum(b.reduce_sum(b.square(centred), {0})), batch), centred};
}

TEST(CutSegments, AGraphWithoutExchangeIsOneSegment) {
  Graph graph;
  Builder b(graph);
  const Value x = b.parameter({kF32, {2}}, "x");
  const Value w = b.parameter({kF32, {2}}, "w", ParameterRole::kWeight);
  graph.set_results({b.multiply(x, w).id, x.id});
  const SegmentedProgram program = cut_segments(graph);
  ASSERT_EQ(program.segments.size(), 1u);
  const Segment& only = program.segments[0];
  EXPECT_EQ(count(only, Segment::Source::kParameter), 2);
  EXPECT_EQ(count(only, Segment::Target::kResult), 2);
  EXPECT_EQ(only.graph->parameter(1).role, ParameterRole::kWeight);
  EXPECT_EQ(only.graph->parameter(1).name, "w");
  EXPECT_TRUE(program.value_types.empty() && program.exchanged_types.empty());
}

TEST(CutSegments, IndependentExchangesShareACut) {
  Graph graph;
  Builder b(graph);
  const Value x = b.parameter({kF32, {4}}, "x");
  const Value sum = b.tower_sum(x), squares = b.tower_sum(b.square(x));
  graph.add_result(b.subtract(squares, b.square(sum)));
  const SegmentedProgram program = cut_segments(graph);
  ASSERT_EQ(program.segments.size(), 2u);
  EXPECT_EQ(count(program.segments[0], Segment::Target::kExchange), 2);
  EXPECT_EQ(count(program.segments[1], Segment::Source::kExchanged), 2);
  EXPECT_TRUE(program.value_types.empty());
  ASSERT_EQ(program.exchanged_types.size(), 2u);
  EXPECT_EQ(program.exchanged_types[0], x.type());
}

TEST(CutSegments, EveryNodeGoesIntoTheEarliestSegment) {
  Graph graph;
  Builder b(graph);
  const Value x = b.parameter({kF32, {2, 3}}, "x");
  const Variance v = global_variance(b, x, 4);
  b.set_context("late");
  const Value early = b.exponential(x);  // built last, needs no exchange
  graph.set_results({b.multiply(v.centred, b.rsqrt(v.variance)).id, early.id});
  const SegmentedProgram program = cut_segments(graph);
  ASSERT_EQ(program.segments.size(), 3u);
  EXPECT_EQ(count(program.segments[0], Opcode::kExponential), 1);
  // Computed in the first segment, kept, and handed out by the last with all other results.
  EXPECT_EQ(count(program.segments[0], Segment::Target::kResult), 0);
  EXPECT_EQ(program.segments[0].graph->nodes().back().context, "late");
  EXPECT_EQ(count(program.segments[1], Segment::Target::kValue), 1);  // centred
  EXPECT_EQ(count(program.segments[2], Segment::Source::kValue), 2);
  EXPECT_EQ(count(program.segments[2], Segment::Target::kResult), 2);
}

TEST(CutSegments, BroadcastsAndConstantsAreRepeatedNotKept) {
  Graph graph;
  Builder b(graph);
  const Value x = b.parameter({kF32, {8, 3}}, "x");
  const Value scale = b.parameter({kF32, {}}, "scale", ParameterRole::kScalar);
  const Value wide = b.broadcast_to(b.multiply(scale, 2.0), {8, 3});
  const Value sum = b.tower_sum(b.reduce_sum(b.multiply(x, wide), {0}));
  graph.add_result(
      b.multiply(b.subtract(b.iota({kF32, {8, 3}}, 0), b.broadcast_to(sum, {8, 3})), wide));
  const SegmentedProgram program = cut_segments(graph);
  ASSERT_EQ(program.segments.size(), 2u);
  ASSERT_EQ(program.value_types.size(), 1u);
  EXPECT_EQ(program.value_types[0], (TensorType{kF32, {}}));  // the scalar, not its broadcast
  EXPECT_EQ(count(program.segments[1], Opcode::kIota), 1);
  EXPECT_EQ(count(program.segments[1], Opcode::kBroadcastInDim), 2);
}

TEST(CutSegments, AValueUsedInSeveralSegmentsIsKeptOnce) {
  Graph graph;
  Builder b(graph);
  const Value x = b.parameter({kF32, {3}}, "x");
  const Value kept = b.exponential(x);
  const Value first = b.tower_sum(kept);
  const Value second = b.tower_sum(b.multiply(kept, first));
  graph.set_results({b.add(kept, second).id, kept.id});
  const SegmentedProgram program = cut_segments(graph);
  ASSERT_EQ(program.segments.size(), 3u);
  EXPECT_EQ(program.value_types.size(), 1u);
  EXPECT_EQ(count(program.segments[0], Segment::Target::kValue), 1);
  EXPECT_EQ(count(program.segments[1], Segment::Source::kValue), 1);
  EXPECT_EQ(count(program.segments[2], Segment::Source::kValue), 1);
}

TEST(CutSegments, SumsAndParametersThatAreResultsPassThroughTheLast) {
  Graph graph;
  Builder b(graph);
  const Value x = b.parameter({kF32, {3}}, "x");
  const Value sum = b.tower_sum(x);
  graph.set_results({sum.id, x.id, b.constant(2.0).id, sum.id});
  const SegmentedProgram program = cut_segments(graph);
  ASSERT_EQ(program.segments.size(), 2u);
  EXPECT_EQ(count(program.segments[0], Segment::Target::kResult), 0);
  EXPECT_EQ(count(program.segments[1], Segment::Target::kResult), 4);
  EXPECT_EQ(count(program.segments[1], Segment::Source::kExchanged), 1);
}

TEST(CutSegments, TowersTogetherEqualTheWholeBatch) {
  constexpr int64_t kBatch = 9;
  const HostTensor batch = random_tensor({kBatch, 4}, 1);
  const auto normalised = [&](Graph& graph, int64_t count, bool is_cut) {
    Builder b(graph);
    const Value x = b.parameter({kF64, {count, 4}}, "x");
    const auto total = [&](Value sum) { return is_cut ? b.tower_sum(sum) : sum; };
    const Value mean = b.divide(total(b.reduce_sum(x, {0})), static_cast<double>(kBatch));
    const Value centred = b.subtract(x, mean);
    const Value variance =
        b.divide(total(b.reduce_sum(b.square(centred), {0})), static_cast<double>(kBatch));
    graph.set_results({b.multiply(centred, b.rsqrt(b.add(variance, 1e-3))).id, variance.id});
  };
  Graph whole;
  normalised(whole, kBatch, false);
  const Tensors want = evaluate(whole, Tensors{batch});
  for (const int64_t towers : {1, 3, 9}) {
    const int64_t count = kBatch / towers;
    Graph graph;
    normalised(graph, count, true);
    std::vector<Tensors> inputs;
    for (int64_t t = 0; t < towers; ++t) inputs.push_back({rows(batch, t * count, count)});
    const auto got = run_towers(cut_segments(*simplify(graph)), inputs);
    for (int64_t t = 0; t < towers; ++t) {
      const HostTensor expected = rows(want[0], t * count, count);
      const Slots& results = got[static_cast<size_t>(t)];
      for (size_t i = 0; i < static_cast<size_t>(expected.size()); ++i)
        EXPECT_NEAR(results[0]->data<double>()[i], expected.data<double>()[i], 1e-12) << towers;
      for (size_t i = 0; i < 4; ++i)
        EXPECT_NEAR(results[1]->data<double>()[i], want[1].data<double>()[i], 1e-13) << towers;
    }
  }
}

TEST(CutSegments, GradientsThroughExchangesAddUpToTheWholeBatchs) {
  constexpr int64_t kBatch = 6;
  const HostTensor batch = random_tensor({kBatch, 3}, 2), weights = random_tensor({3}, 3);
  // Loss: sum of tanh((x * w - mean) / variance), mean and variance over the batch.
  const auto loss_gradient = [&](Graph& graph, int64_t count, bool is_cut) {
    Builder b(graph);
    const Value x = b.parameter({kF64, {count, 3}}, "x");
    const Value w = b.parameter({kF64, {3}}, "w", ParameterRole::kWeight);
    const Value h = b.multiply(x, w);
    const auto total = [&](Value sum) { return is_cut ? b.tower_sum(sum) : sum; };
    const Value mean = b.divide(total(b.reduce_sum(h, {0})), static_cast<double>(kBatch));
    const Value centred = b.subtract(h, mean);
    const Value variance =
        b.divide(total(b.reduce_sum(b.square(centred), {0})), static_cast<double>(kBatch));
    const Value loss = b.reduce_sum(b.tanh(b.divide(centred, b.add(variance, 0.1))), {0, 1});
    graph.set_results({loss.id, gradients(b, {{loss, b.like(loss, 1.0)}}, {w})[0].id});
  };
  Graph whole;
  loss_gradient(whole, kBatch, false);
  const Tensors want = evaluate(whole, Tensors{batch, weights});
  for (const int64_t towers : {1, 2, 6}) {
    const int64_t count = kBatch / towers;
    Graph graph;
    loss_gradient(graph, count, true);
    std::vector<Tensors> inputs;
    for (int64_t t = 0; t < towers; ++t) inputs.push_back({rows(batch, t * count, count), weights});
    const SegmentedProgram program = cut_segments(*simplify(graph));
    EXPECT_EQ(program.segments.size(), 5u);  // two exchanges forward, two backward
    Slots sums(2);
    for (const Slots& results : run_towers(program, inputs))
      for (size_t i = 0; i < 2; ++i) add_into(sums[i], results[i].value());
    for (size_t i = 0; i < 2; ++i)
      for (size_t j = 0; j < static_cast<size_t>(want[i].size()); ++j)
        EXPECT_NEAR(sums[i]->data<double>()[j], want[i].data<double>()[j], 1e-12) << towers;
  }
}

}  // namespace
}  // namespace lockstep
