// What layers refuse, what they ask of training, and what they do with integers.
#include "layer_test_util.h"
#include "lockstep/nn/layers/activations.h"
#include "lockstep/nn/layers/convolution.h"
#include "lockstep/nn/layers/dense.h"
#include "lockstep/nn/layers/merging.h"
#include "lockstep/nn/layers/normalization.h"
#include "lockstep/nn/layers/pooling.h"
#include "lockstep/nn/layers/regularization.h"
#include "lockstep/nn/layers/reshaping.h"

namespace lockstep {
namespace {

template <class Body>
void expect_invalid(std::string_view text, Body&& body) {
  expect_error(ErrorCode::kInvalidArgument, text, body);
}

/// Training graph of one layer on one input.
struct TrainingCall {
  TrainingCall(const LayerPtr& layer, HostTensor input, bool synchronized = false)
      : context(graph, /*training=*/true) {
    context.synchronized = synchronized;
    context.global_row_count = static_cast<float>(input.shape()[0]);
    call_layer(layer, {Input(input.shape().without_rows())}, false);
    for (const VariablePtr& variable : layer->variables())
      variable->value = variable->initializer->values(variable->shape, variable->dtype, 1, "");
    context.site = 5 << 16 | 1;
    y = layer->call(context, {graph.input(std::move(input))})[0];
  }

  TestGraph graph;
  TestContext context;
  Value y;
};

TEST(Dense, RefusesWhatDoesNotFit) {
  expect_invalid("[Dense \"d\"] `units` must be > 0: 0", [] { Dense({.units = 0, .name = "d"}); });
  const LayerHandle dense = Dense({.units = 2, .name = "d"});
  dense(Input({3}));
  expect_invalid("[Dense \"d\"] the input's last axis must be 3: [2,4] came",
                 [&] { dense(Input({4})); });
  expect_invalid("[Dense \"d\"] it must be called on 1 tensor: 2 came",
                 [&] { dense({Input({3}), Input({3})}); });
  expect_invalid("last axis of known extent", [] { Dense({.units = 2})(Input({})); });
  expect_invalid("an empty tensor came", [] { Dense({.units = 2})(Tensor()); });
}

TEST(Dense, CastsIntegers) {
  const LayerHandle dense = Dense({.units = 1, .kernel_initializer = "ones"});
  const Tensor y = dense(Input({2}, {.dtype = DType::kU8}));
  EXPECT_EQ(y.spec, (TensorSpec{{-1, 1}, DType::kF32}));
  for (const VariablePtr& variable : dense.layer()->variables())
    variable->value = HostTensor::of<float>({2, 1}, {1.0f, 2.0f}).reshaped(Shape{2, 1});
  dense.layer()->variables()[1]->value = HostTensor::of<float>({1}, {0.5f});
  const HostTensor x = HostTensor::of<uint8_t>({1, 2}, {200, 100});
  expect_near(run_inference(*dense.layer(), {x})[0], {400.5f});
}

TEST(Dense, VariablesCarryWhatTheyWereGiven) {
  const LayerHandle dense = Dense({.units = 2,
                                   .kernel_initializer = "he_normal",
                                   .kernel_regularizer = L2(0.1),
                                   .bias_constraint = "non_neg",
                                   .name = "d"});
  dense(Input({3}));
  const auto& variables = dense.layer()->variables();
  EXPECT_EQ(variables[0]->path, "d/kernel");
  EXPECT_EQ(variables[0]->shape, (Shape{3, 2}));
  EXPECT_EQ(variables[0]->initializer->class_name(), "HeNormal");
  EXPECT_EQ(variables[0]->regularizer->l2, 0.1);
  EXPECT_EQ(variables[1]->constraint->class_name(), "NonNeg");
}

TEST(Conv2D, RefusesWhatDoesNotFit) {
  const auto conv = [](Conv2DConfig config) {
    config.name = "c";
    return [config] { Conv2D(config)(Input({4, 4, 3})); };
  };
  expect_invalid("`filters` must be > 0: 0", conv({.filters = 0, .kernel_size = 1}));
  expect_invalid("[Conv2D \"c\"] `kernel_size` must be > 0: (0, 0)", conv({.filters = 1}));
  expect_invalid("`strides` must be > 0", conv({.filters = 1, .kernel_size = 1, .strides = 0}));
  expect_invalid("`padding` must be \"valid\" or \"same\": \"full\"",
                 conv({.filters = 1, .kernel_size = 1, .padding = "full"}));
  expect_invalid("must not both be above 1",
                 conv({.filters = 1, .kernel_size = 1, .strides = 2, .dilation_rate = 2}));
  expect_invalid("`groups` must divide the filters: 2 groups, 3 filters",
                 conv({.filters = 3, .kernel_size = 1, .groups = 2}));
  expect_invalid("`groups` must divide the input channels: 2 groups, 3 input channels",
                 conv({.filters = 2, .kernel_size = 1, .groups = 2}));
  expect_invalid("a window of 5x5 must fit into the image: [2,4,4,3] came",
                 conv({.filters = 2, .kernel_size = 5}));
  expect_invalid("must have 4 axes", [] {
    Conv2D({.filters = 1, .kernel_size = 1})(Input({4, 3}));
  });
  const LayerHandle shared = Conv2D({.filters = 1, .kernel_size = 1});
  shared(Input({4, 4, 3}));
  expect_invalid("the input must have 3 channels: [2,4,4,1] came",
                 [&] { shared(Input({4, 4, 1})); });
  expect_error(ErrorCode::kUnsupported, "unsupported `padding` \"causal\"",
               conv({.filters = 1, .kernel_size = 1, .padding = "causal"}));
}

TEST(DepthwiseConv2D, RefusesAMultiplierOfZero) {
  expect_invalid("`depth_multiplier` must be > 0",
                 [] { DepthwiseConv2D({.kernel_size = 1, .depth_multiplier = 0}); });
}

TEST(Pooling, RefusesWhatDoesNotFit) {
  expect_invalid("`pool_size` must be > 0", [] { MaxPooling2D({.pool_size = 0}); });
  expect_invalid("must fit into the image", [] { AveragePooling2D()(Input({1, 4, 3})); });
  expect_invalid("must have 4 axes", [] { GlobalMaxPooling2D()(Input({4, 3})); });
}

TEST(BatchNormalization, TrainsOverTheTower) {
  const LayerHandle layer = BatchNormalization({.momentum = 0.9, .epsilon = 0.0, .name = "bn"});
  TrainingCall call(layer, HostTensor::of<float>({2, 2, 1}, {1.0f, 3.0f, 5.0f, 7.0f}));
  const float unit = 1.0f / std::sqrt(5.0f);
  ASSERT_EQ(call.context.updates.size(), 2u);
  const auto& [mean, variance] = std::tie(call.context.updates[0], call.context.updates[1]);
  const auto results = call.graph.evaluate({call.y, mean.weighted, variance.weighted});
  expect_near(results[0], {-3 * unit, -1 * unit, 1 * unit, 3 * unit});
  EXPECT_EQ(mean.path, "bn/moving_mean");
  EXPECT_EQ(variance.path, "bn/moving_variance");
  EXPECT_EQ(mean.momentum, 0.9);
  EXPECT_EQ(mean.positions_per_row, 2);
  expect_near(results[1], {4 * 4.0f});  // times rows and positions
  expect_near(results[2], {4 * 5.0f});  // biased
}

TEST(BatchNormalization, NormalisesOverAnyAxis) {
  const LayerHandle layer = BatchNormalization({.axis = 1, .epsilon = 0.0});
  TrainingCall call(layer, HostTensor::of<float>({1, 2, 2}, {1.0f, 3.0f, 5.0f, 9.0f}));
  expect_near(call.graph.evaluate(call.y), {-1.0f, 1.0f, -1.0f, 1.0f});
  EXPECT_EQ(call.context.updates[0].positions_per_row, 2);
}

TEST(BatchNormalization, SynchronizedGivesTheSameWhenATowerIsAll) {
  const HostTensor x = sequence({4, 3, 2});
  TrainingCall by_tower(BatchNormalization(), x);
  TrainingCall asked(BatchNormalization({.synchronized = true}), x);
  TrainingCall forced(BatchNormalization(), x, /*synchronized=*/true);
  const auto results = [](TrainingCall& call) {
    return call.graph.evaluate(
        {call.y, call.context.updates[0].weighted, call.context.updates[1].weighted});
  };
  const auto want = results(by_tower);
  for (TrainingCall* call : {&asked, &forced}) {
    const auto got = results(*call);
    for (size_t i = 0; i < want.size(); ++i) {
      const HostTensor wide = want[i].as(DType::kF64);
      expect_close(got[i], wide.data<double>(), 1e-6);
    }
  }
  const auto has_tower_sum = [](const TrainingCall& call) {
    for (const Node& node : call.graph.graph.nodes())
      if (node.opcode == Opcode::kTowerSum) return true;
    return false;
  };
  EXPECT_FALSE(has_tower_sum(by_tower));
  EXPECT_TRUE(has_tower_sum(asked));
  EXPECT_TRUE(has_tower_sum(forced));
}

TEST(BatchNormalization, FrozenUsesItsMovingAverages) {
  const LayerHandle layer = BatchNormalization({.epsilon = 0.0, .trainable = false});
  TrainingCall call(layer, HostTensor::of<float>({2, 1}, {1.0f, 3.0f}));
  EXPECT_TRUE(call.context.updates.empty());
  expect_near(call.graph.evaluate(call.y), {1.0f, 3.0f});  // mean 0, variance 1
}

TEST(BatchNormalization, RefusesWhatDoesNotFit) {
  expect_invalid("`axis` must be one of the input's and not the batch: 2 for [-1,3]",
                 [] { BatchNormalization({.axis = 2})(Input({3})); });
  const LayerHandle layer = BatchNormalization({.name = "bn"});
  layer(Input({3}));
  expect_invalid("[BatchNormalization \"bn\"] axis -1 of the input must be 3: [2,4] came",
                 [&] { layer(Input({4})); });
}

TEST(Dropout, DropsInTrainingOnly) {
  TrainingCall call(Dropout({.rate = 0.25, .seed = 9}), sequence({4, 50}));
  EXPECT_EQ(call.context.seeds, (std::vector<std::optional<int64_t>>{9}));
  const HostTensor y = call.graph.evaluate(call.y), x = sequence({4, 50});
  int dropped = 0;
  for (int64_t i = 0; i < x.size(); ++i) {
    const float want = x.data<float>()[i] / 0.75f, got = y.data<float>()[i];
    if (got == 0.0f && want != 0.0f) ++dropped;
    else EXPECT_NEAR(got, want, 1e-6);
  }
  EXPECT_GT(dropped, 20);
  EXPECT_LT(dropped, 80);
}

TEST(Dropout, NodeKnowsItsSite) {
  TrainingCall call(Dropout(0.5), sequence({1, 4}));
  const Node& node = call.graph.graph.producer(call.y.id);
  ASSERT_EQ(node.opcode, Opcode::kDropout);
  EXPECT_EQ(node.as<DropoutAttrs>().site, 5u << 16 | 1u);
  EXPECT_EQ(node.as<DropoutAttrs>().rate, 0.5);
}

TEST(Dropout, RateZeroIsTheIdentity) {
  TrainingCall call(Dropout(0.0), sequence({1, 4}));
  EXPECT_TRUE(call.context.seeds.empty());
  EXPECT_EQ(call.graph.graph.producer(call.y.id).opcode, Opcode::kParameter);
}

TEST(Dropout, RefusesOtherRates) {
  expect_invalid("`rate` must be at least 0 and below 1: 1", [] { Dropout(1.0); });
  expect_invalid("`rate` must be at least 0 and below 1: -0.5", [] { Dropout(-0.5); });
}

TEST(ReLU, RefusesNegativeNumbers) {
  expect_invalid("must be >= 0", [] { ReLU({.negative_slope = -1.0}); });
}

TEST(Reshaping, RefusesWhatDoesNotFit) {
  expect_invalid("at most one -1", [] { Reshape({.target_shape = {-1, -1}}); });
  expect_invalid("must hold a row's 6 elements: [2,2,3] came",
                 [] { Reshape({.target_shape = {4}})(Input({2, 3})); });
  expect_invalid("must hold a row's 6 elements",
                 [] { Reshape({.target_shape = {4, -1}})(Input({2, 3})); });
  expect_invalid("`dims` must be a permutation", [] { Permute({.dims = {1, 1}})(Input({2, 3})); });
  expect_invalid("`padding` must be >= 0", [] { ZeroPadding2D({.padding = -1}); });
  expect_invalid("must leave something of the image",
                 [] { Cropping2D({.cropping = 2})(Input({4, 9, 1})); });
}

TEST(Reshaping, KeepsIntegers) {
  EXPECT_EQ(Flatten()(Input({2, 3}, {.dtype = DType::kU8})).spec,
            (TensorSpec{{-1, 6}, DType::kU8}));
  EXPECT_EQ(Flatten()(Input({})).spec.shape, (Shape{-1, 1}));
}

TEST(Merging, RefusesWhatDoesNotFit) {
  expect_invalid("[Add \"a\"] shapes must be equal or broadcast: [2,3], [2,4]",
                 [] { Add({.name = "a"})({Input({3}), Input({4})}); });
  expect_invalid("it must be called on a list of tensors", [] { Add()(Input({3})); });
  expect_invalid("none came", [] { Add()(std::vector<Tensor>{}); });
  expect_invalid("it must be called on two tensors: 3 came",
                 [] { Subtract()({Input({3}), Input({3}), Input({3})}); });
  expect_invalid("shapes must be equal but for axis -1: [2,3,2], [2,4,2]",
                 [] { Concatenate()({Input({3, 2}), Input({4, 2})}); });
  expect_invalid("not the batch: 0", [] { Concatenate({.axis = 0})({Input({3}), Input({3})}); });
}

TEST(Merging, CastsWhenDtypesDiffer) {
  const Tensor bytes = Input({2}, {.dtype = DType::kU8});
  EXPECT_EQ(Concatenate()({bytes, bytes}).spec.dtype, DType::kU8);
  EXPECT_EQ(Concatenate()({bytes, Input({2})}).spec.dtype, DType::kF32);
  EXPECT_EQ(Average()({bytes, bytes}).spec.dtype, DType::kF32);
}

TEST(Input, RefusesWhatItCannotBe) {
  expect_invalid("[InputLayer \"x\"] extents must be > 0: [4,0]",
                 [] { Input({4, 0}, {.name = "x"}); });
  expect_error(ErrorCode::kUnsupported, "unsupported dtype float64",
               [] { Input({4}, {.dtype = DType::kF64}); });
  expect_error(ErrorCode::kUnsupported, "unsupported input with a free axis besides the batch",
               [] { Dense({.units = 1})(Input({-1, 4})); });
}

}  // namespace
}  // namespace lockstep
