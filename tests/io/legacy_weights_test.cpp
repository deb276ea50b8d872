// Weights in the layout of Keras 1 and 2: names say which is whose, whatever the order.
#include "tests/io/legacy_test_util.h"

namespace lockstep {
namespace {

class LegacyWeights : public KerasFileTest {
 protected:
  void load(const Bytes& bytes, Network& network) const {
    load_weights(file_of(bytes, "w.h5"), network);
  }
  /// The error holds every part, and the network is as before.
  void expect_refused(const Bytes& bytes, Network& network, ErrorCode code,
                      std::initializer_list<const char*> parts) const {
    const std::vector<HostTensor> before = weights_of(network);
    for (const char* part : parts) expect_error(code, part, [&] { load(bytes, network); });
    expect_error(code, "w.h5", [&] { load(bytes, network); });
    EXPECT_TRUE(same_bits(weights_of(network), before));
  }
};

NetworkPtr gan() {
  NetworkPtr network = gan_of(square_network("generator", "g"), square_network("critic", "d"));
  number_weights(*network);
  return network;
}

TEST_F(LegacyWeights, ComeBackAsTheyWere) {
  for (const NetworkPtr& network : {network_, gan()}) {
    const std::vector<HostTensor> want = weights_of(*network);
    const Bytes bytes = legacy_bytes_of(network);
    EXPECT_EQ(bytes, legacy_bytes_of(network));
    clear_weights(*network);
    load(bytes, *network);
    EXPECT_TRUE(same_bits(weights_of(*network), want));
  }
}

// keras#6607, #9905, #10777, #12470, #13259, tensorflow#37541, #34950: a nested model is frozen
// when its weights are saved, or when they are loaded, and lists them in another order then.
TEST_F(LegacyWeights, FrozenNestedModelsAreMappedByName) {
  const NetworkPtr network = gan();
  const std::vector<HostTensor> want = weights_of(*network);
  const LayerPtr critic = network->get_layer("critic");
  const LayerPtr second = static_cast<const Network&>(*critic).get_layer("d_second");
  const auto set_flags = [&](int flags) {
    critic->set_trainable((flags & 1) == 0);
    second->set_trainable((flags & 2) == 0);
  };
  std::vector<Bytes> files;
  for (int flags = 0; flags < 4; ++flags) {
    set_flags(flags);
    files.push_back(legacy_bytes_of(network));
  }
  EXPECT_NE(files[0], files[1]) << "the order is another one";
  EXPECT_NE(files[0], files[2]) << "the order is another one";
  for (const Bytes& file : files)
    for (int flags = 0; flags < 4; ++flags) {
      set_flags(flags);
      clear_weights(*network);
      load(file, *network);
      EXPECT_TRUE(same_bits(weights_of(*network), want)) << flags;
    }
}

// keras#10180: nested models in nested models.
TEST_F(LegacyWeights, AnyDepthOfNestingComesBack) {
  NetworkPtr network = square_network("inmost", "n");
  for (int depth = 0; depth < 4; ++depth) {
    const Tensor x = Input({3}, {.name = fmt::format("x{}", depth)});
    const Tensor y = BatchNormalization()(LayerHandle(network)(x));
    network = Network::functional({x}, {y}, fmt::format("level{}", depth));
  }
  number_weights(*network);
  const std::vector<HostTensor> want = weights_of(*network);
  const Bytes bytes = legacy_bytes_of(network);
  clear_weights(*network);
  load(bytes, *network);
  EXPECT_TRUE(same_bits(weights_of(*network), want));
}

// keras#11618: a model used on two inputs, and in another model besides.
TEST_F(LegacyWeights, SharedModelsComeBack) {
  const LayerHandle shared(square_network("shared", "s"));
  const Tensor a = Input({3}, {.name = "a"}), b = Input({3}, {.name = "b"});
  const Tensor inner_x = Input({3}, {.name = "inner_x"});
  const LayerHandle inner(Network::functional({inner_x}, {shared(inner_x)}, "inner"));
  const NetworkPtr network =
      Network::functional({a, b}, {Concatenate()({shared(a), shared(b), inner(b)})}, "net");
  number_weights(*network);
  const std::vector<HostTensor> want = weights_of(*network);
  const Bytes bytes = legacy_bytes_of(network);
  clear_weights(*network);
  load(bytes, *network);
  EXPECT_TRUE(same_bits(weights_of(*network), want));
}

NetworkPtr one_dense(const std::string& name = "") {
  NetworkPtr network =
      Network::sequential({Dense({.units = 2, .name = name})}, TensorSpec{{-1, 2}});
  network->initialize(0);
  return network;
}

LegacyLayer dense_layer(const std::string& name, const std::string& kernel,
                        const std::string& bias) {
  return {name, {{kernel, numbered({2, 2}, 1)}, {bias, numbered({2}, 2)}}};
}

TEST_F(LegacyWeights, EveryVersionsNamesAreRead) {
  for (const auto& [kernel, bias] : std::initializer_list<std::pair<const char*, const char*>>{
           {"out/kernel:0", "out/bias:0"},      // Keras 2
           {"out_1/kernel:0", "out_1/bias:0"},  // a scope that TensorFlow made unique
           {"seq/out/kernel", "seq/out/bias"},  // Keras 3
           {"kernel", "bias"},                  // Keras 3.0
           {"out_W", "out_b"},                  // Keras 1 over Theano
           {"out_W_1:0", "out_b_1:0"},          // Keras 1 over TensorFlow
           {"param_0", "param_1"}}) {           // weights that nobody named
    const NetworkPtr network = one_dense("out");
    load(legacy_file({dense_layer("out", kernel, bias)}), *network);
    EXPECT_TRUE(same_bits(weights_of(*network), {numbered({2, 2}, 1), numbered({2}, 2)})) << kernel;
  }
}

TEST_F(LegacyWeights, Keras1sBatchNormalizationIsRead) {
  const NetworkPtr network = Network::sequential({BatchNormalization()}, TensorSpec{{-1, 2}});
  load(legacy_file({{"bn1",
                     {{"bn1_running_std_1:0", numbered({2}, 4)},
                      {"bn1_beta_1:0", numbered({2}, 2)},
                      {"bn1_gamma_1:0", numbered({2}, 1)},
                      {"bn1_running_mean_1:0", numbered({2}, 3)}}}}),
       *network);
  EXPECT_TRUE(same_bits(weights_of(*network),
                        {numbered({2}, 1), numbered({2}, 2), numbered({2}, 3), numbered({2}, 4)}));
}

TEST_F(LegacyWeights, Keras1sKernelsWithChannelsFirstAreRefused) {
  const auto convolution = [](int64_t channels, int64_t filters) {
    NetworkPtr network =
        Network::sequential({Conv2D({.filters = filters, .kernel_size = 3, .use_bias = false})},
                            TensorSpec{{-1, 8, 8, channels}});
    network->initialize(0);
    return network;
  };
  const auto file = [](const Shape& shape) {
    return legacy_file({{"convolution2d_1", {{"convolution2d_1_W", numbered(shape, 1)}}}});
  };
  load(file({3, 3, 1, 4}), *convolution(1, 4));
  expect_refused(file({4, 1, 3, 3}), *convolution(1, 4), ErrorCode::kUnsupported,
                 {"th", "[4,1,3,3]", "[3,3,1,4]"});
  expect_refused(file({3, 3, 3, 3}), *convolution(3, 3), ErrorCode::kInvalidArgument,
                 {"[3,3,3,3]", "does not tell"});
}

NetworkPtr two_dense(const std::string& first, const std::string& second) {
  NetworkPtr network =
      Network::sequential({Dense({.units = 2, .name = first}), Dense({.units = 2, .name = second})},
                          TensorSpec{{-1, 2}});
  network->initialize(0);
  return network;
}

LegacyLayer numbered_layer(const std::string& name, float start) {
  return {name,
          {{name + "/kernel:0", numbered({2, 2}, start)},
           {name + "/bias:0", numbered({2}, start + 1)}}};
}

void expect_starts(const Network& network, std::initializer_list<float> starts) {
  const std::vector<HostTensor> weights = weights_of(network);
  ASSERT_EQ(weights.size(), 2 * starts.size());
  size_t i = 0;
  for (const float start : starts) {
    EXPECT_TRUE(weights[i++].same_bits(numbered({2, 2}, start)));
    EXPECT_TRUE(weights[i++].same_bits(numbered({2}, start + 1)));
  }
}

TEST_F(LegacyWeights, LayersAreFoundByNameInAnyOrder) {
  const NetworkPtr network = two_dense("first", "second");
  load(legacy_file({numbered_layer("second", 30), numbered_layer("first", 10)}), *network);
  expect_starts(*network, {10, 30});
}

// keras#12502, keras_efficientnet_v2#2, keras-yolo3#32: automatic names count on from model to
// model, and loading by name finds nothing without a word.
TEST_F(LegacyWeights, AutomaticNamesThatWereCountedElsewhereAreTakenInOrder) {
  const NetworkPtr network = two_dense("dense", "dense_1");
  load(legacy_file({numbered_layer("dense_3", 10), numbered_layer("dense_4", 30)}), *network);
  expect_starts(*network, {10, 30});
  load(legacy_file({numbered_layer("dense_1", 50), numbered_layer("dense_2", 70)}), *network);
  expect_starts(*network, {50, 70});
}

TEST_F(LegacyWeights, NamesAtOtherPlacesAreNotPassedOver) {
  expect_refused(legacy_file({numbered_layer("b", 10), numbered_layer("c", 30)}),
                 *two_dense("a", "b"), ErrorCode::kInvalidArgument, {"\"b\"", "\"c\""});
}

/// A nested model of two Dense layers with automatic names, the first of them frozen when saved.
LegacyLayer half_frozen(const char* first, const char* second) {
  const std::string a(first), b(second);
  return {"inner",
          {{b + "/kernel:0", numbered({2, 2}, 30)},
           {b + "/bias:0", numbered({2}, 31)},
           {a + "/kernel:0", numbered({2, 2}, 10)},
           {a + "/bias:0", numbered({2}, 11)}}};
}

TEST_F(LegacyWeights, AutomaticNamesInNestedModelsAreTakenByTheirNumbers) {
  const Tensor x = Input({2}, {.name = "x"});
  const NetworkPtr inner = two_dense("dense", "dense_1");
  const NetworkPtr network = Network::functional({x}, {LayerHandle(inner)(x)}, "net");
  for (const auto& names :
       {std::pair{"dense", "dense_1"}, {"dense_7", "dense_8"}, {"dense_9", "dense_10"}}) {
    clear_weights(*network);
    load(legacy_file({half_frozen(names.first, names.second)}), *network);
    expect_starts(*network, {10, 30});
  }
}

// keras#19375: Keras 3.0 wrote names without the layers'.
TEST_F(LegacyWeights, NamesThatDoNotTellAreRefused) {
  const NetworkPtr inner = square_network("inner", "n");
  const Tensor x = Input({3}, {.name = "x"});
  const NetworkPtr network = Network::functional({x}, {LayerHandle(inner)(x)}, "net");
  number_weights(*network);
  LegacyLayer layer{"inner", {}};
  for (int i = 0; i < 7; ++i) {
    const bool is_square = i == 0 || i == 3 || i == 4;
    layer.weights.emplace_back(fmt::format("param_{}", i),
                               numbered(is_square ? Shape{3, 3} : Shape{3}, 10.0f * i));
  }
  // hidden, gamma, beta, second, out, mean, variance: the order of a model with nothing frozen.
  load(legacy_file({layer}), *network);
  EXPECT_TRUE(weights_of(*network)[5].same_bits(numbered({3, 3}, 30)));  // second
  EXPECT_TRUE(weights_of(*network)[3].same_bits(numbered({3}, 50)));     // mean
  // gamma and beta alone: with nothing frozen, and with all frozen, they come in one order; a
  // batch normalization after another does not.
  const Tensor y = Input({3}, {.name = "y"});
  const NetworkPtr pair =
      Network::functional({y}, {BatchNormalization()(BatchNormalization()(y))}, "pair");
  const Tensor z = Input({3}, {.name = "z"});
  const NetworkPtr outer = Network::functional({z}, {LayerHandle(pair)(z)}, "outer");
  number_weights(*outer);
  LegacyLayer twice{"pair", {}};
  for (int i = 0; i < 8; ++i)
    twice.weights.emplace_back(fmt::format("param_{}", i), numbered({3}, 10.0f * i));
  expect_refused(legacy_file({twice}), *outer, ErrorCode::kInvalidArgument,
                 {"pair", "2 orders", "param_0"});
}

// keras#13154, #8212, #11253, #8463, kuza55/keras-extras#16: the weights of a model that
// multi_gpu_model wrapped, into the plain model, and the other way round.
TEST_F(LegacyWeights, AModelAroundTheModelIsSeenThrough) {
  const NetworkPtr plain = square_network("model_1", "n");
  number_weights(*plain);
  const std::vector<HostTensor> want = weights_of(*plain);
  const Bytes alone = legacy_bytes_of(plain);
  const Tensor x = Input({3}, {.name = "x"});
  const NetworkPtr wrapped = Network::functional({x}, {LayerHandle(plain)(x)}, "parallel");
  Bytes around;
  {
    LegacyLayer layer{"model_1", {}};
    for (const VariablePtr& variable : plain->all_variables())
      layer.weights.emplace_back(variable->path, variable->value);
    around = legacy_file(
        {{"input_1", {}}, {"lambda_1", {}}, {"lambda_2", {}}, layer, {"concatenate_1", {}}});
  }
  for (const Bytes& file : {alone, around})
    for (const NetworkPtr& network : {plain, wrapped}) {
      clear_weights(*network);
      load(file, *network);
      EXPECT_TRUE(same_bits(weights_of(*network), want));
    }
}

TEST_F(LegacyWeights, OfAWholeModelsFileAreFound) {
  Hdf5Writer h5;
  add_legacy_layers(h5, {dense_layer("out", "out/kernel:0", "out/bias:0")}, "model_weights");
  const NetworkPtr network = one_dense("out");
  load(h5.finish(), *network);
  EXPECT_TRUE(same_bits(weights_of(*network), {numbered({2, 2}, 1), numbered({2}, 2)}));
}

// keras#5253, #11104, h5py#1053, titu1994/Keras-NASNet#16: more names than an object's header
// holds.
TEST_F(LegacyWeights, ThousandsOfLongNamesFit) {
  std::vector<LayerPtr> layers;
  for (int i = 0; i < 1200; ++i)
    layers.push_back(Dense({.units = 1, .name = fmt::format("{}_{:04}", std::string(50, 'n'), i)}));
  const NetworkPtr inner = Network::sequential(layers, TensorSpec{{-1, 1}}, "inner");
  const NetworkPtr flat = Network::sequential(layers, TensorSpec{{-1, 1}}, "flat");
  const Tensor x = Input({1}, {.name = "x"});
  const NetworkPtr outer = Network::functional({x}, {LayerHandle(inner)(x)}, "outer");
  for (const NetworkPtr& network : {flat, outer}) {
    number_weights(*network);
    const std::vector<HostTensor> want = weights_of(*network);
    const Bytes bytes = legacy_bytes_of(network);
    const Hdf5Reader h5(bytes, "w");
    EXPECT_EQ(h5.text_list_attribute("", "layer_names")->size(), network->layers().size());
    clear_weights(*network);
    load(bytes, *network);
    EXPECT_TRUE(same_bits(weights_of(*network), want));
  }
}

// keras#8832: one layer is called like a folder of another.
TEST_F(LegacyWeights, NamesMayBeFoldersOfEachOther) {
  for (const auto& [first, second] :
       {std::pair{"fire05", "fire05/relu"}, {"fire05/relu", "fire05"}}) {
    const NetworkPtr network = two_dense(first, second);
    number_weights(*network);
    const std::vector<HostTensor> want = weights_of(*network);
    const Bytes bytes = legacy_bytes_of(network);
    clear_weights(*network);
    load(bytes, *network);
    EXPECT_TRUE(same_bits(weights_of(*network), want));
  }
}

TEST_F(LegacyWeights, OtherShapesNameLayerVariableAndBoth) {
  LegacyLayer layer = dense_layer("out", "out/kernel:0", "out/bias:0");
  layer.weights[0].second = numbered({2, 3}, 1);
  expect_refused(legacy_file({layer}), *one_dense("out"), ErrorCode::kInvalidArgument,
                 {"out", "kernel", "[2,2]", "[2,3]", "out/out/kernel:0"});
}

TEST_F(LegacyWeights, OtherNumbersOfLayersAndWeightsAreRefused) {
  expect_refused(legacy_file({numbered_layer("a", 10), numbered_layer("b", 30)}),
                 *square_network("three", "n"), ErrorCode::kInvalidArgument,
                 {"4 layers", "2 (\"a\", \"b\")"});
  LegacyLayer more = dense_layer("out", "out/kernel:0", "out/bias:0");
  more.weights.emplace_back("out/more:0", numbered({2}, 5));
  expect_refused(legacy_file({more}), *one_dense("out"), ErrorCode::kInvalidArgument,
                 {"2 weights", "holds 3", "out/more:0"});
  expect_refused(legacy_file({{"out", {}}}), *one_dense("out"), ErrorCode::kInvalidArgument,
                 {"1 layers", "0 ()"});
}

// keras#12884: a group is missing.
TEST_F(LegacyWeights, MissingGroupsAttributesAndDatasetsAreNamed) {
  Hdf5Writer no_group;
  no_group.add_text_list_attribute("", "layer_names", {"out", "gone"});
  no_group.add_group("out");
  no_group.add_text_list_attribute("out", "weight_names", {});
  expect_refused(no_group.finish(), *one_dense("out"), ErrorCode::kDataLoss, {"gone"});
  Hdf5Writer no_names;
  no_names.add_text_list_attribute("", "layer_names", {"out"});
  no_names.add_dataset("out/kernel:0", numbered({2, 2}, 1));
  expect_refused(no_names.finish(), *one_dense("out"), ErrorCode::kDataLoss,
                 {"weight_names", "/out"});
  for (const char* name : {"out/kernel:0", "../out", "/etc/passwd", "", ".", "out"}) {
    Hdf5Writer no_dataset;
    no_dataset.add_text_list_attribute("", "layer_names", {"out"});
    no_dataset.add_group("out");
    no_dataset.add_text_list_attribute("out", "weight_names", {name});
    expect_refused(no_dataset.finish(), *one_dense("out"), ErrorCode::kDataLoss,
                   {"there is no dataset"});
  }
  Hdf5Writer neither;
  neither.add_group("model_weights");
  expect_refused(neither.finish(), *one_dense("out"), ErrorCode::kDataLoss, {"layer_names"});
}

// keras#6844, #6005, tensorflow#46871: two things of one name.
TEST_F(LegacyWeights, NamesThatComeTwiceAreRefused) {
  Hdf5Writer layers;
  layers.add_text_list_attribute("", "layer_names", {"out", "out"});
  layers.add_group("out");
  layers.add_text_list_attribute("out", "weight_names", {});
  expect_refused(layers.finish(), *one_dense("out"), ErrorCode::kDataLoss, {"layer_names", "out"});
  Hdf5Writer weights;
  weights.add_text_list_attribute("", "layer_names", {"out"});
  weights.add_dataset("out/kernel:0", numbered({2}, 1));
  weights.add_text_list_attribute("out", "weight_names", {"kernel:0", "kernel:0"});
  expect_refused(weights.finish(), *one_dense("out"), ErrorCode::kDataLoss, {"kernel:0"});
}

TEST_F(LegacyWeights, ASharedVariableHasOneValue) {
  const LayerHandle shared = Dense({.units = 2, .name = "shared"});
  const Tensor x = Input({2}, {.name = "x"}), inner_x = Input({2}, {.name = "inner_x"});
  const LayerHandle inner(Network::functional({inner_x}, {shared(inner_x)}, "inner"));
  const NetworkPtr network = Network::functional({x}, {inner(shared(x))}, "net");
  network->initialize(0);
  LegacyLayer outside = numbered_layer("shared", 10), inside = numbered_layer("shared", 10);
  inside.name = "inner";
  load(legacy_file({outside, inside}), *network);
  expect_starts(*network, {10});
  inside.weights[1].second = numbered({2}, 12);
  expect_refused(legacy_file({outside, inside}), *network, ErrorCode::kInvalidArgument,
                 {"shared", "two"});
}

// keras#8546, #6221: a download that was cut.
TEST_F(LegacyWeights, FilesThatWereCutAreRefused) {
  const Bytes whole = legacy_bytes_of(network_);
  for (size_t size = 0; size < whole.size(); size += 1 + whole.size() / 50)
    expect_refused(whole.substr(0, size), *network_, ErrorCode::kDataLoss, {"w.h5"});
}

}  // namespace
}  // namespace lockstep
