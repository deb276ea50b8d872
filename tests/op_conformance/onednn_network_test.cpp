// Networks on the CPU backend, where images lie in blocked order, bias, activation and dropout are
// fused, and steps share memory: against the reference, in threads, and bit by bit.
#include <gtest/gtest.h>

#include <thread>

#include "lockstep/autodiff/vjp.h"
#include "lockstep/backend/onednn/onednn_backend.h"
#include "lockstep/backend/reference/reference_backend.h"
#include "lockstep/tensor/philox.h"
#include "tests/op_conformance/run_graph.h"

namespace lockstep {
namespace {

/// A graph under construction, with an input for each parameter.
struct Network {
  Graph graph;
  Builder builder{graph};
  std::vector<HostTensor> inputs;
  std::vector<Value> weights;

  Value input(HostTensor tensor) {
    inputs.push_back(std::move(tensor));
    return builder.parameter(inputs.back().type(), "x");
  }
  Value uniform(Shape shape) {
    HostTensor tensor(DType::kF32, std::move(shape));
    PhiloxStream stream(philox_key(inputs.size(), RandomPurpose::kInit, "test"));
    for (float& value : tensor.data<float>()) value = static_cast<float>(stream.uniform() - 0.5);
    return input(std::move(tensor));
  }
  Value weight(Shape shape) { return weights.emplace_back(uniform(std::move(shape))); }

  Value conv(Value x, int64_t filters, ConvAttrs attrs = {}) {
    const Value kernel = weight({3, 3, x.shape()[3], filters});
    return builder.add(builder.conv2d(x, kernel, attrs), weight({filters}));
  }
  Value selu(Value x) { return builder.elu(x, {1.6732632423543772, 1.0507009873554805}); }
  Value dropout(Value x, uint32_t site) {
    const Value key = input(HostTensor::of<uint32_t>({2}, {3, 4}));
    const Value row = input(HostTensor::scalar<uint32_t>(32));
    const Value step = input(HostTensor::scalar<uint32_t>(7));
    return builder.dropout(x, key, row, step, {0.3, site}).y;
  }
  Value dense(Value x, int64_t units) {
    const Value flat = builder.reshape(x, {x.shape()[0], x.shape().without_rows().size()});
    return builder.add(builder.matmul(flat, weight({flat.shape()[1], units})), weight({units}));
  }
  /// Results: y and the gradients of its weighted sum by every weight.
  void finish(Value y) {
    graph.add_result(y);
    for (const Value& g : gradients(builder, {{y, uniform(y.shape())}}, weights))
      graph.add_result(g);
  }
};

void expect_meaning(Network& network) {
  const auto backend = make_onednn_backend();
  const auto executable = backend->compile(network.graph, {"test"});
  expect_near(run(*executable, network.inputs), evaluate(network.graph, network.inputs));
}

void build_classifier(Network& n) {
  Value x = n.uniform({3, 12, 12, 1});
  for (uint32_t i = 0; i < 3; ++i) x = n.dropout(n.selu(n.conv(x, 16 << i)), i);
  n.finish(n.builder.log_softmax(n.dense(x, 10), 1));
}

TEST(OnednnNetwork, ClassifierWithDropout) {
  Network n;
  build_classifier(n);
  expect_meaning(n);
}

TEST(OnednnNetwork, PoolingKeepsBlocks) {
  Network n;
  Value x = n.builder.relu(n.conv(n.uniform({2, 11, 11, 3}), 16));
  x = n.builder.max_pool2d(x, {.window = {3, 3}, .strides = {2, 2}, .pad_high = {1, 1}});
  x = n.builder.avg_pool2d(n.builder.tanh(n.conv(x, 32)), {.window = {2, 2}, .strides = {1, 1}});
  n.finish(n.dense(x, 5));
  expect_meaning(n);
}

TEST(OnednnNetwork, ResidualThatIsReadTwice) {
  Network n;
  const ConvAttrs same{.pad_low = {1, 1}, .pad_high = {1, 1}};
  const Value x = n.selu(n.conv(n.uniform({2, 6, 6, 16}), 16, same));
  const Value y = n.builder.relu(n.builder.add(x, n.conv(x, 16, same)));
  n.finish(n.builder.reduce_mean(y, {1, 2}));
  expect_meaning(n);
}

TEST(OnednnNetwork, NormalisationBetweenBlockedConvolutions) {
  Network n;
  const Value x = n.builder.conv2d(n.uniform({3, 8, 8, 8}), n.weight({3, 3, 8, 16}), {});
  const Value y = n.builder.batch_norm_training(x, n.weight({16}), n.weight({16}), 1e-3).y;
  n.finish(n.dense(n.builder.relu(n.conv(n.builder.relu(y), 24)), 3));
  expect_meaning(n);
}

TEST(OnednnNetwork, BlockedValueThatIsAResult) {
  Network n;
  const Value x = n.conv(n.uniform({2, 7, 7, 4}), 16);
  n.graph.add_result(x);
  n.finish(n.conv(n.selu(x), 8));
  expect_meaning(n);
}

TEST(OnednnNetwork, ChannelsThatFitNoBlock) {
  Network n;
  Value x = n.selu(n.conv(n.uniform({2, 8, 8, 3}), 10));
  x = n.dropout(n.selu(n.conv(x, 16)), 1);
  n.finish(n.dense(n.conv(x, 7), 20));
  expect_meaning(n);
}

TEST(OnednnNetwork, ThreadsAndRepeatsGiveTheSameBits) {
  Network n;
  build_classifier(n);
  const auto backend = make_onednn_backend();
  const auto executable = backend->compile(n.graph, {"test"});
  std::vector<std::vector<HostTensor>> results(4);
  std::vector<std::thread> threads;
  for (size_t i = 0; i < results.size(); ++i)
    threads.emplace_back([&, i] {
      backend->enter_device_thread();
      results[i] = run(*executable, n.inputs, static_cast<int>(i) + 1);
    });
  for (std::thread& thread : threads) thread.join();
  for (const auto& other : results)
    for (size_t i = 0; i < other.size(); ++i) EXPECT_TRUE(other[i].same_bits(results[0][i])) << i;
}

}  // namespace
}  // namespace lockstep
