// Networks made in code: names, order, shared and nested layers, flags, call sites, errors.
#include "lockstep/nn/network.h"

#include <set>

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

using Names = std::vector<std::string>;

Names layer_names(const Network& network) {
  Names names;
  for (const LayerPtr& layer : network.layers()) names.push_back(layer->name());
  return names;
}

Names paths(const std::vector<VariablePtr>& variables) {
  Names result;
  for (const VariablePtr& variable : variables) result.push_back(variable->path);
  return result;
}

LayerHandle dense(std::string name = "") {
  return Dense({.units = 2, .name = std::move(name)});
}

TEST(Names, SnakeCaseOfClasses) {
  EXPECT_EQ(snake_case("Conv2D"), "conv2d");
  EXPECT_EQ(snake_case("DepthwiseConv2D"), "depthwise_conv2d");
  EXPECT_EQ(snake_case("GlobalAveragePooling2D"), "global_average_pooling2d");
  EXPECT_EQ(snake_case("LeakyReLU"), "leaky_re_lu");
  EXPECT_EQ(snake_case("ELU"), "elu");
  EXPECT_EQ(snake_case("RMSNormalization"), "rms_normalization");
  EXPECT_EQ(snake_case("Conv2DTranspose"), "conv2d_transpose");
}

TEST(Names, AreGivenInOrderAroundThoseTaken) {
  const Tensor x = Input({2});
  const auto network = Network::functional({x}, {dense()(dense("dense_1")(dense()(x)))});
  EXPECT_EQ(layer_names(*network), (Names{"input_layer", "dense", "dense_1", "dense_2"}));
  EXPECT_EQ(network->name(), "functional");
  EXPECT_EQ(network->input_names(), (Names{"input_layer"}));
  EXPECT_EQ(network->output_names(), (Names{"dense_2"}));
}

TEST(Names, NetworksInNetworksGetTheirs) {
  const auto inner = [] { return Network::sequential({Input({2}).producer->layer, dense()}); };
  const Tensor x = Input({2});
  const Tensor y = LayerHandle(inner())(LayerHandle(inner())(x));
  const auto network = Network::functional({x}, {y}, "outer");
  EXPECT_EQ(layer_names(*network), (Names{"input_layer", "sequential", "sequential_1"}));
  EXPECT_EQ(paths(network->all_variables()),
            (Names{"sequential/dense/kernel", "sequential/dense/bias", "sequential_1/dense/kernel",
                   "sequential_1/dense/bias"}));
}

TEST(Names, TwoOfOneNameAreRefused) {
  const Tensor x = Input({2});
  expect_error(ErrorCode::kInvalidArgument,
               "layers must have different names: two are called \"a\"",
               [&] { Network::functional({x}, {dense("a")(dense("a")(x))}); });
}

TEST(Names, OneLayerThatMakesTwoOutputs) {
  const Tensor x = Input({2}), y = Input({2});
  const LayerHandle layer = dense("d");
  const auto network = Network::functional({x, y}, {layer(x), layer(y)});
  EXPECT_EQ(network->output_names(), (Names{"d", "d_1"}));
}

TEST(Order, LayersStandByDepthThenAsMet) {
  const Tensor a = Input({2}, {.name = "a"}), b = Input({2}, {.name = "b"});
  const Tensor left = dense("left")(a);
  const Tensor right = dense("long2")(dense("long1")(b));
  const auto network = Network::functional({a, b}, {Add({.name = "sum"})({left, right})});
  EXPECT_EQ(layer_names(*network), (Names{"b", "a", "long1", "left", "long2", "sum"}));
  ASSERT_EQ(network->calls().size(), 4u);
  EXPECT_EQ(network->calls().back()->layer->name(), "sum");
}

TEST(Order, AnInputNobodyUsesStaysAnInput) {
  const Tensor a = Input({2}, {.name = "a"}), b = Input({3}, {.name = "b"});
  const auto network = Network::functional({a, b}, {dense("d")(a)});
  EXPECT_EQ(layer_names(*network), (Names{"a", "b", "d"}));
  EXPECT_EQ(network->input_names(), (Names{"a", "b"}));
}

TEST(Order, DeepChainsDoNotExhaustTheStack) {
  const Tensor input = Input({1});
  Tensor x = input;
  for (int i = 0; i < 3000; ++i) x = Rescaling({.name = fmt::format("r{}", i)})(x);
  EXPECT_EQ(Network::functional({input}, {x})->calls().size(), 3000u);
}

TEST(Graph, RefusesWhatDoesNotHoldTogether) {
  const Tensor a = Input({2}, {.name = "a"}), b = Input({2}, {.name = "b"});
  const Tensor sum = Add()({a, b});
  expect_error(ErrorCode::kInvalidArgument, "depends on InputLayer \"b\", which must be among",
               [&] { Network::functional({a}, {sum}); });
  expect_error(ErrorCode::kInvalidArgument, "inputs must come from Input(), each once",
               [&] { Network::functional({sum}, {dense()(sum)}); });
  expect_error(ErrorCode::kInvalidArgument, "each once: InputLayer \"a\" came", [&] {
    Network::functional({a, a}, {dense()(a)});
  });
  expect_error(ErrorCode::kInvalidArgument, "must have outputs",
               [&] { Network::functional({a}, {}); });
  expect_error(ErrorCode::kInvalidArgument, "must be tensors: an empty one",
               [&] { Network::functional({a}, {Tensor()}); });
  expect_error(ErrorCode::kInvalidArgument, "must have layers", [&] { Network::sequential({}); });
}

TEST(Graph, CallChecksItsInputs) {
  const Tensor x = Input({2}, {.name = "x"});
  const auto network = Network::functional({x}, {dense()(x)}, "net");
  expect_error(ErrorCode::kInvalidArgument,
               "[Functional \"net\"] input \"x\" must be [-1,2]: [-1,3] came",
               [&] { LayerHandle{network}(Input({3})); });
  expect_error(ErrorCode::kInvalidArgument, "it must be called on 1 tensor: 2 came", [&] {
    LayerHandle{network}(std::vector{Input({2}), Input({2})});
  });
}

TEST(Graph, SharedLayersHaveTheirVariablesOnce) {
  const Tensor a = Input({2}), b = Input({2});
  const LayerHandle shared = dense("d");
  const auto network = Network::functional({a, b}, {Subtract()({shared(a), shared(b)})});
  EXPECT_EQ(paths(network->all_variables()), (Names{"d/kernel", "d/bias"}));
  network->initialize(1);
  const HostTensor x = HostTensor::of<float>({1, 2}, {1.0f, 2.0f});
  expect_near(run_inference(*network, {x, x})[0], {0.0f, 0.0f});
}

TEST(Graph, SharedNormalizationUpdatesOnceACall) {
  const Tensor a = Input({2}), b = Input({2});
  const LayerHandle shared = BatchNormalization({.name = "bn"});
  const auto network = Network::functional({a, b}, {Add()({shared(a), shared(b)})});
  network->initialize(1);
  TestGraph graph;
  TestContext context(graph, /*training=*/true);
  network->call(context, {graph.input(sequence({3, 2})), graph.input(sequence({3, 2}, 1))});
  Names updated;
  for (const auto& update : context.updates) updated.push_back(update.path);
  EXPECT_EQ(updated, (Names{"bn/moving_mean", "bn/moving_variance", "bn/moving_mean",
                            "bn/moving_variance"}));
}

TEST(Graph, InputsAreCastToTheirDtype) {
  const Tensor x = Input({2}, {.dtype = DType::kS32});
  const auto network = Network::functional({x}, {Flatten()(x)});
  EXPECT_EQ(run_inference(*network, {HostTensor::of<float>({1, 2}, {1.5f, 2.0f})})[0].dtype(),
            DType::kS32);
}

TEST(Sequential, BuildsWhenItsInputIsKnown) {
  const auto with_input = Network::sequential({Input({3}).producer->layer, dense(), dense()});
  EXPECT_EQ(layer_names(*with_input), (Names{"dense", "dense_1"}));
  EXPECT_EQ(with_input->parameter_count(), 3 * 2 + 2 + 2 * 2 + 2);
  EXPECT_EQ(with_input->name(), "sequential");

  const auto by_spec = Network::sequential({dense()}, TensorSpec{{-1, 4}});
  EXPECT_EQ(by_spec->inputs()[0].spec.shape, (Shape{-1, 4}));

  const auto by_first = Network::sequential({with_input, dense("last")});
  EXPECT_EQ(by_first->inputs()[0].spec.shape, (Shape{-1, 3}));
}

TEST(Sequential, BuildsAtItsFirstCallOtherwise) {
  const auto later = Network::sequential({dense()});
  EXPECT_TRUE(later->inputs().empty());
  EXPECT_EQ(later->parameter_count(), 0);
  expect_error(ErrorCode::kInvalidArgument, "must have an input shape before it is used", [&] {
    run_inference(*later, {sequence({1, 5})});
  });
  LayerHandle{later}(Input({5}));
  EXPECT_EQ(later->parameter_count(), 12);
}

TEST(Sequential, MayHoldALayerTwice) {
  const LayerHandle layer = dense("d");
  const auto network = Network::sequential({layer, layer}, TensorSpec{{-1, 2}});
  EXPECT_EQ(layer_names(*network), (Names{"d", "d"}));
  EXPECT_EQ(network->calls().size(), 2u);
  EXPECT_EQ(network->parameter_count(), 6);
}

TEST(Sequential, RefusesLayersOfSeveralResults) {
  const Tensor x = Input({2});
  const auto two = Network::functional({x}, {dense()(x), dense()(x)}, "two");
  expect_error(ErrorCode::kInvalidArgument, "must have one result: Functional \"two\" has 2",
               [&] { Network::sequential({two}); });
}

TEST(Trainable, EveryEnclosingFlagCounts) {
  const auto inner =
      Network::sequential({Input({2}).producer->layer, dense("a"), dense("b")}, std::nullopt, "in");
  const Tensor x = Input({2});
  const auto network = Network::functional({x}, {dense("c")(LayerHandle{inner}(x))});
  const auto trained = [&] { return paths(network->trainable_variables()); };
  EXPECT_EQ(trained(),
            (Names{"in/a/kernel", "in/a/bias", "in/b/kernel", "in/b/bias", "c/kernel", "c/bias"}));
  inner->set_trainable(false);
  EXPECT_EQ(trained(), (Names{"c/kernel", "c/bias"}));
  inner->get_layer("a")->set_trainable(true);
  EXPECT_EQ(trained(), (Names{"c/kernel", "c/bias"}));
  inner->set_trainable(true);
  inner->get_layer("a")->set_trainable(false);
  EXPECT_EQ(trained(), (Names{"in/b/kernel", "in/b/bias", "c/kernel", "c/bias"}));
  network->set_trainable(false);
  EXPECT_TRUE(trained().empty());
  EXPECT_EQ(network->all_variables().size(), 6u);
}

TEST(Trainable, StateIsSavedAfterWeightsAndNeverTrained) {
  const auto network =
      Network::sequential({BatchNormalization({.name = "bn"})}, TensorSpec{{-1, 3}});
  EXPECT_EQ(paths(network->all_variables()),
            (Names{"bn/gamma", "bn/beta", "bn/moving_mean", "bn/moving_variance"}));
  EXPECT_EQ(paths(network->trainable_variables()), (Names{"bn/gamma", "bn/beta"}));
}

TEST(Sites, DifferForEveryCall) {
  const LayerHandle nested(
      Network::sequential({Input({2}).producer->layer, Dropout(0.5), Dropout(0.5)}));
  const Tensor x = Input({2});
  const LayerHandle dropout = Dropout(0.5);
  const auto network = Network::functional({x}, {nested(dropout(nested(dropout(x))))});
  TestGraph graph;
  TestContext context(graph, /*training=*/true);
  network->call(context, {graph.input(sequence({1, 2}))});
  ASSERT_EQ(context.sites.size(), 6u);
  const auto index = static_cast<uint32_t>(network->layer_index(*dropout.layer()));
  EXPECT_EQ(context.sites[0], index << 16 | 0u);
  EXPECT_EQ(context.sites[3], index << 16 | 1u);
  const std::set<uint32_t> different(context.sites.begin(), context.sites.end());
  EXPECT_EQ(different.size(), 6u);
  EXPECT_EQ(context.site, 0u);
}

TEST(Penalties, AreAddedForEveryCall) {
  const Tensor x = Input({2});
  const LayerHandle layer =
      Dense({.units = 1, .kernel_initializer = "ones", .activity_regularizer = L1(0.5)});
  const Tensor y = ActivityRegularization({.l2 = 1.0})(layer(x));
  const auto network = Network::functional({x}, {y});
  network->initialize(1);
  TestGraph graph;
  TestContext context(graph, /*training=*/true);
  network->call(context, {graph.f32({2, 2}, {1.0f, 2.0f, 3.0f, -1.0f})});
  ASSERT_EQ(context.penalties.size(), 2u);
  const auto sums = graph.evaluate(context.penalties);
  expect_near(sums[0], {0.5f * (3 + 2)});
  expect_near(sums[1], {9.0f + 4.0f});
}

TEST(Initialize, FillsWhatHasNoValue) {
  const auto network = Network::sequential({dense("a"), dense("b")}, TensorSpec{{-1, 2}});
  const VariablePtr kernel = network->all_variables()[0];
  kernel->value = HostTensor::of<float>({2, 2}, {1.0f, 2.0f, 3.0f, 4.0f});
  network->initialize(3);
  EXPECT_EQ(kernel->value.data<float>()[3], 4.0f);
  const VariablePtr other = network->all_variables()[2];
  EXPECT_TRUE(
      other->value.same_bits(other->initializer->values({2, 2}, DType::kF32, 3, "b/kernel")));
}

TEST(Initialize, NeedsAnInitializer) {
  const auto network = Network::sequential(
      {Dense({.units = 1, .kernel_initializer = nullptr, .name = "d"})}, TensorSpec{{-1, 2}});
  expect_error(ErrorCode::kInvalidArgument, "[d/kernel] the variable must have an initializer",
               [&] { network->initialize(1); });
}

TEST(GetLayer, NamesTheClosest) {
  const auto network = Network::sequential({dense("output")}, TensorSpec{{-1, 2}});
  EXPECT_EQ(network->get_layer("output")->class_name(), "Dense");
  expect_error(ErrorCode::kNotFound, "no layer is called \"outptu\". Did you mean \"output\"?",
               [&] { network->get_layer("outptu"); });
}

TEST(Summary, OfAChain) {
  const auto network = Network::sequential(
      {Input({6, 6, 1}).producer->layer,
       Conv2D({.filters = 16, .kernel_size = 3, .activation = "selu"}), MaxPooling2D(),
       Dense({.units = 1000, .name = "a_layer_with_a_rather_long_name"})});
  EXPECT_EQ(network->summary(), R"(Model: "sequential"
┏━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━┳━━━━━━━━━━━━━━━━━━━━━━━━━━┳━━━━━━━━━━━━━━━┓
┃ Layer (type)                     ┃ Output Shape             ┃       Param # ┃
┡━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━╇━━━━━━━━━━━━━━━━━━━━━━━━━━╇━━━━━━━━━━━━━━━┩
│ conv2d (Conv2D)                  │ (None, 4, 4, 16)         │           160 │
├──────────────────────────────────┼──────────────────────────┼───────────────┤
│ max_pooling2d (MaxPooling2D)     │ (None, 2, 2, 16)         │             0 │
├──────────────────────────────────┼──────────────────────────┼───────────────┤
│ a_layer_with_a_rather_long_name  │ (None, 2, 2, 1000)       │        17,000 │
│ (Dense)                          │                          │               │
└──────────────────────────────────┴──────────────────────────┴───────────────┘
 Total params: 17,160 (67.03 KB)
 Trainable params: 17,160 (67.03 KB)
 Non-trainable params: 0 (0.00 B)
)");
}

TEST(Summary, OfABranchedNetworkNamesConnections) {
  const Tensor a = Input({2}, {.name = "a"}), b = Input({2}, {.name = "b"});
  const auto network = Network::functional(
      {a, b}, {BatchNormalization({.name = "bn"})(Add({.name = "sum"})({a, b}))}, "net");
  const std::string text = network->summary();
  EXPECT_NE(text.find("Connected to"), std::string::npos) << text;
  EXPECT_NE(text.find("a[0][0], b[0][0]"), std::string::npos) << text;
  EXPECT_NE(text.find(" Total params: 8 (32.00 B)\n Trainable params: 4 (16.00 B)\n"
                      " Non-trainable params: 4 (16.00 B)\n"),
            std::string::npos)
      << text;
}

}  // namespace
}  // namespace lockstep
