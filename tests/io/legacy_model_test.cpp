// Whole models in .h5 files: what Keras 1 and 2 spelled otherwise, and optimizers' state in the
// order of every version.
#include "lockstep/io/legacy_model.h"
#include "lockstep/formats/json.h"
#include "lockstep/nn/schedule.h"
#include "tests/io/legacy_test_util.h"

namespace lockstep {
namespace {

const char* const kModel = R"({"class_name": "Functional", "config": {"name": "net", "layers": [
  {"class_name": "InputLayer", "name": "x", "inbound_nodes": [],
   "config": {"batch_input_shape": [null, 2], "dtype": "float32", "sparse": false, "name": "x"}},
  {"class_name": "Dense", "name": "hidden", "inbound_nodes": [[["x", 0, 0, {}]]],
   "config": {"name": "hidden", "units": 2, "kernel_initializer":
              {"class_name": "GlorotUniform", "config": {"seed": null, "dtype": "float32"}}}},
  {"class_name": "BatchNormalizationV1", "name": "bn", "inbound_nodes": [[["hidden", 0, 0, {}]]],
   "config": {"name": "bn", "axis": [1], "scale": false}},
  {"class_name": "Dense", "name": "out", "inbound_nodes": [[["bn", 0, 0, {}]]],
   "config": {"name": "out", "units": 2, "activation": "softmax"}}],
  "input_layers": [["x", 0, 0]], "output_layers": [["out", 0, 0]]}})";

/// Trainable ones: hidden/kernel, hidden/bias, bn/beta, out/kernel, out/bias.
std::vector<LegacyLayer> model_layers() {
  return {
      {"x", {}},
      {"hidden", {{"hidden/kernel:0", numbered({2, 2}, 0)}, {"hidden/bias:0", numbered({2}, 1)}}},
      {"bn",
       {{"bn/beta:0", numbered({2}, 2)},
        {"bn/moving_mean:0", numbered({2}, 3)},
        {"bn/moving_variance:0", numbered({2}, 4)}}},
      {"out", {{"out/kernel:0", numbered({2, 2}, 5)}, {"out/bias:0", numbered({2}, 6)}}}};
}

const std::vector<std::string> kPaths = {"hidden/kernel", "hidden/bias", "bn/beta", "out/kernel",
                                         "out/bias"};

/// Of trainable variable `i`; no two slots are alike.
HostTensor slot(size_t i, float start) {
  const bool is_square = i == 0 || i == 3;
  return numbered(is_square ? Shape{2, 2} : Shape{2}, start + 10.0f * static_cast<float>(i));
}

struct LegacyModelFile {
  std::string config = kModel, training, version = "2.4.0";
  std::vector<LegacyLayer> layers = model_layers();
  std::vector<std::pair<std::string, HostTensor>> optimizer{};

  KerasFile read() const {
    Hdf5Writer h5;
    h5.add_text_attribute("", "model_config", config);
    if (!training.empty()) h5.add_text_attribute("", "training_config", training);
    if (!version.empty()) h5.add_text_attribute("", "keras_version", version);
    add_legacy_layers(h5, layers, "model_weights");
    if (!optimizer.empty()) {
      std::vector<std::string> names;
      for (const auto& [name, value] : optimizer) {
        h5.add_dataset("optimizer_weights/" + name, value);
        names.push_back(name);
      }
      h5.add_text_list_attribute("optimizer_weights", "weight_names", names);
    }
    return read_legacy_model(Hdf5Reader(h5.finish(), "m.h5"), "m.h5");
  }
};

std::string compiled(const std::string& optimizer, const std::string& config,
                     const std::string& loss = R"("categorical_crossentropy")",
                     const std::string& metrics = "null") {
  return fmt::format(
      R"({{"optimizer_config": {{"class_name": "{}", "config": {}}}, "loss": {},
          "metrics": {}, "sample_weight_mode": null, "loss_weights": null}})",
      optimizer, config, loss, metrics);
}

TEST(LegacyModel, Keras2sSpellingsAreRead) {
  const KerasFile file = LegacyModelFile().read();
  EXPECT_TRUE(file.remarks.empty());
  EXPECT_FALSE(file.compile_config);
  std::vector<HostTensor> want;
  for (const LegacyLayer& layer : model_layers())
    for (const auto& [name, value] : layer.weights) want.push_back(value);
  EXPECT_TRUE(same_bits(weights_of(*file.network), want));
}

// keras#19669, #19151, tensorflow#64685: DepthwiseConv2D with `groups`, a batch_input_shape.
TEST(LegacyModel, ASequentialOfKeras2IsRead) {
  LegacyModelFile file;
  file.config = R"({"class_name": "Sequential", "config": [
    {"class_name": "DepthwiseConv2D", "config": {"name": "dw", "kernel_size": [1, 1], "groups": 1,
     "batch_input_shape": [null, 4, 4, 2], "use_bias": false}}]})";
  file.layers = {{"dw", {{"dw/depthwise_kernel:0", numbered({1, 1, 2, 1}, 1)}}}};
  const KerasFile read = file.read();
  EXPECT_EQ(read.network->inputs()[0].spec.shape, (Shape{-1, 4, 4, 2}));
  EXPECT_TRUE(same_bits(weights_of(*read.network), {numbered({1, 1, 2, 1}, 1)}));
}

TEST(LegacyModel, LayersThatLockstepLacksAreNamed) {
  LegacyModelFile file;
  file.config = R"({"class_name": "Sequential", "config": {"name": "s", "layers": [
    {"class_name": "LSTM", "config": {"name": "memory", "units": 3}}]}})";
  expect_error(ErrorCode::kUnsupported, "LSTM", [&] { file.read(); });
  expect_error(ErrorCode::kUnsupported, "m.h5", [&] { file.read(); });
}

TEST(LegacyModel, AUsersClassIsReadAsItsGraphAndSaysSo) {
  LegacyModelFile file;
  file.config.replace(file.config.find("Functional"), 10, "DetectModel");
  const KerasFile read = file.read();
  ASSERT_EQ(read.remarks.size(), 1u);
  EXPECT_NE(read.remarks[0].find("DetectModel"), std::string::npos);
  EXPECT_EQ(read.network->name(), "net");
}

/// As Keras 2's multi_gpu_model saves it; code in it is made up.
std::string parallel_config(const std::string& extra = "") {
  const auto slice = [](int i) {
    return fmt::format(
        R"({{"class_name": "Lambda", "name": "lambda_{0}", "inbound_nodes": [[["x", 0, 0, {{}}]]],
            "config": {{"name": "lambda_{0}", "function": ["4wEAAAA=", null, null],
                        "function_type": "lambda", "arguments": {{"i": {0}, "parts": 2}}}}}})",
        i);
  };
  std::string inner = kModel;
  inner.pop_back();
  inner +=
      R"(, "name": "net", "inbound_nodes": [[["lambda_0", 0, 0, {}]], [["lambda_1", 0, 0, {}]]]})";
  return R"({"class_name": "Model", "config": {"name": "model_1", "layers": [
    {"class_name": "InputLayer", "name": "x", "inbound_nodes": [],
     "config": {"batch_input_shape": [null, 2], "dtype": "float32", "name": "x"}},)" +
         slice(0) + "," + slice(1) + "," + inner + extra +
         R"(, {"class_name": "Concatenate", "name": "out",
     "inbound_nodes": [[["net", 1, 0, {}], ["net", 2, 0, {}]]],
     "config": {"name": "out", "axis": 0}}],
     "input_layers": [["x", 0, 0]], "output_layers": [["out", 0, 0]]}})";
}

// keras#13154, #13833, #8123, #11253, and the files of Keras 2.2's multi_gpu_model as such: input,
// lambdas, one model, concatenation.
TEST(LegacyModel, ThatOfMultiGpuModelIsUnwrapped) {
  LegacyModelFile file;
  file.config = parallel_config();
  LegacyLayer flat{"net", {}};
  for (const LegacyLayer& layer : model_layers())
    flat.weights.insert(flat.weights.end(), layer.weights.begin(), layer.weights.end());
  // Trainable ones come first.
  std::stable_partition(flat.weights.begin(), flat.weights.end(), [](const auto& weight) {
    return weight.first.find("moving") == std::string::npos;
  });
  file.layers = {{"x", {}}, {"lambda_0", {}}, {"lambda_1", {}}, flat, {"out", {}}};
  const KerasFile read = file.read();
  ASSERT_EQ(read.remarks.size(), 1u);
  EXPECT_NE(read.remarks[0].find("multi_gpu_model"), std::string::npos);
  EXPECT_EQ(read.network->name(), "net");
  EXPECT_EQ(read.network->output_names(), std::vector<std::string>{"out"});
  EXPECT_TRUE(same_bits(weights_of(*read.network), weights_of(*LegacyModelFile().read().network)));
}

TEST(LegacyModel, OtherLambdasAreRefusedByName) {
  LegacyModelFile file;
  file.config = parallel_config(
      R"(, {"class_name": "Lambda", "name": "evil", "inbound_nodes": [],
            "config": {"name": "evil", "function": ["4wEAAAA=", null, null]}})");
  expect_error(ErrorCode::kUnsupported, "Lambda", [&] { file.read(); });
  // Inside the model that is unwrapped.
  file.config = parallel_config();
  const std::string dense = R"({"class_name": "Dense", "name": "hidden")";
  file.config.replace(file.config.find(dense), dense.size(),
                      R"({"class_name": "Lambda", "name": "hidden")");
  expect_error(ErrorCode::kUnsupported, "Lambda (\"hidden\")", [&] { file.read(); });
}

TEST(LegacyModel, ConfigurationsThatDoNotHoldTogetherAreRefused) {
  for (const char* text :
       {"{", "[]", "1", "null", "{}", R"({"class_name": "Model"})",
        R"({"class_name": "Model", "config": []})",
        R"({"class_name": "Model", "config": {"layers": [1, [], {}, null],
            "input_layers": [], "output_layers": []}})",
        R"({"class_name": 3, "config": {"layers": {}, "input_layers": 1, "output_layers": 1}})"}) {
    LegacyModelFile file;
    file.config = text;
    try {
      file.read();
      ADD_FAILURE() << text;
    } catch (const Error& error) {
      EXPECT_NE(error.code(), ErrorCode::kInternal) << error.what();
      EXPECT_NE(std::string(error.what()).find("m.h5"), std::string::npos) << error.what();
    }
  }
}

// -- how it was compiled

// keras#19330: short names. tensorflow#41958, #43457, keras#14231: the function that "accuracy"
// was.
TEST(LegacyModel, LossesAndMetricsOfKeras2AreUnderstood) {
  LegacyModelFile file;
  file.training = compiled(
      "Custom>Adam",
      R"({"name": "Adam", "jit_compile": false, "is_legacy_optimizer": false,
          "learning_rate": 0.5})",
      R"({"class_name": "CategoricalCrossentropy",
          "config": {"reduction": "auto", "name": "cce", "from_logits": true}})",
      R"([[{"class_name": "MeanMetricWrapper", "config": {"name": "accuracy", "dtype": "float32",
            "fn": "categorical_accuracy"}}, "mse"]])");
  const KerasFile read = file.read();
  EXPECT_TRUE(read.remarks.empty()) << read.remarks.front();
  ASSERT_TRUE(read.compile_config);
  const Json& config = *read.compile_config;
  EXPECT_EQ(config["optimizer"]["class_name"], "Adam");
  EXPECT_EQ(config["optimizer"]["config"]["learning_rate"], 0.5);
  EXPECT_EQ(config["loss"]["config"]["reduction"], "sum_over_batch_size");
  EXPECT_EQ(config["loss"]["module"], "keras.losses");
  EXPECT_EQ(config["metrics"][0][0]["class_name"], "CategoricalAccuracy");
  EXPECT_EQ(config["metrics"][0][0]["config"]["name"], "accuracy");
  EXPECT_FALSE(config.contains("sample_weight_mode"));
}

TEST(LegacyModel, Keras2sDecayIsASchedule) {
  LegacyModelFile file;
  file.training = compiled("SGD", R"({"lr": 0.5, "momentum": 0.5, "decay": 0.25})");
  const Json rate = (*file.read().compile_config)["optimizer"]["config"]["learning_rate"];
  EXPECT_EQ(rate["class_name"], "InverseTimeDecay");
  EXPECT_FLOAT_EQ(schedule_from_config(rate)->at(2), 0.5 / (1 + 0.25 * 2));
}

// tensorflow#29108, #36001, keras#13575: of which weights clipnorm takes the norm.
TEST(LegacyModel, NormsWereGlobalInKerasItselfBefore24) {
  for (const auto& [version, key] : {std::pair{"2.2.4", "global_clipnorm"},
                                     {"1.2.2", "global_clipnorm"},
                                     {"", "global_clipnorm"},
                                     {"2.2.4-tf", "clipnorm"},
                                     {"2.4.0", "clipnorm"},
                                     {"3.15.1", "clipnorm"}}) {
    LegacyModelFile file;
    file.version = version;
    file.training = compiled("SGD", R"({"clipnorm": 0.5})");
    EXPECT_EQ((*file.read().compile_config)["optimizer"]["config"][key], 0.5) << version;
  }
}

TEST(LegacyModel, WhatItCannotBeCompiledWithIsSaid) {
  for (const auto& [training, part] : {std::pair{compiled("Adam", "{}", R"("my_loss")"), "my_loss"},
                                       {compiled("MyAdam", "{}"), "MyAdam"}}) {
    LegacyModelFile file;
    file.training = training;
    const KerasFile read = file.read();
    EXPECT_FALSE(read.compile_config);
    ASSERT_EQ(read.remarks.size(), 1u);
    EXPECT_NE(read.remarks[0].find(part), std::string::npos) << read.remarks[0];
  }
}

// -- the optimizer's state

using Tensors = std::vector<std::pair<std::string, HostTensor>>;

/// m of every variable from 100 on, v from 1000 on, as .keras files have them: m, v, m, v, ...
void expect_adam_slots(const KerasFile& file) {
  EXPECT_TRUE(file.remarks.empty()) << file.remarks.front();
  ASSERT_TRUE(file.optimizer);
  EXPECT_EQ(file.optimizer->iterations, 7);
  EXPECT_EQ(file.optimizer->learning_rate, 0.5f);
  ASSERT_EQ(file.optimizer->variables.size(), 10u);
  for (size_t i = 0; i < 5; ++i) {
    EXPECT_TRUE(file.optimizer->variables[2 * i].value.same_bits(slot(i, 100))) << i;
    EXPECT_TRUE(file.optimizer->variables[2 * i + 1].value.same_bits(slot(i, 1000))) << i;
  }
}

LegacyModelFile with_adam(const std::string& version, Tensors optimizer) {
  LegacyModelFile file;
  file.version = version;
  file.training = compiled("Adam", R"({"lr": 0.5})");
  file.optimizer = std::move(optimizer);
  return file;
}

HostTensor seven() {
  return HostTensor::scalar<int64_t>(7);
}

TEST(LegacyModelOptimizer, OfKeras22IsSlotBySlotWithoutNames) {
  Tensors tensors = {{"Adam/iterations:0", seven()}};
  int number = 0;
  for (const float start : {100.0f, 1000.0f})
    for (size_t i = 0; i < 5; ++i)
      tensors.emplace_back(fmt::format("training/Adam/Variable_{}:0", number++), slot(i, start));
  expect_adam_slots(with_adam("2.0.5", tensors).read());
  // Keras 2.2 lists stand-ins of the maxima.
  for (size_t i = 0; i < 5; ++i)
    tensors.emplace_back(fmt::format("training/Adam/Variable_{}:0", number++), numbered({1}, 0));
  expect_adam_slots(with_adam("2.2.4", tensors).read());
}

TEST(LegacyModelOptimizer, OfTensorFlowsKerasIsFoundByName) {
  Tensors tensors = {{"Adam/iter:0", seven()}};
  for (const auto& [kind, start] : {std::pair{"m", 100.0f}, {"v", 1000.0f}})
    for (const size_t i : {4, 3, 2, 1, 0})  // in whatever order
      tensors.emplace_back(fmt::format("Adam/{}/{}:0", kPaths[i], kind), slot(i, start));
  expect_adam_slots(with_adam("2.4.0", tensors).read());
}

TEST(LegacyModelOptimizer, Of211IsFoundByName) {
  Tensors tensors = {{"iteration:0", seven()}};
  for (size_t i = 0; i < 5; ++i)
    for (const auto& [kind, start] : {std::pair{"m", 100.0f}, {"v", 1000.0f}})
      tensors.emplace_back(fmt::format("Adam/{}/{}:0", kind, kPaths[i]), slot(i, start));
  expect_adam_slots(with_adam("2.15.0", tensors).read());
}

TEST(LegacyModelOptimizer, OfKeras3IsInItsOwnOrder) {
  Tensors tensors = {{"adam/iteration", seven()},
                     {"adam/learning_rate", HostTensor::scalar<float>(0.5f)}};
  for (size_t i = 0; i < 5; ++i)
    for (const auto& [kind, start] : {std::pair{"momentum", 100.0f}, {"velocity", 1000.0f}})
      tensors.emplace_back(fmt::format("adam/variable_{}_{}", i, kind), slot(i, start));
  expect_adam_slots(with_adam("3.15.1", tensors).read());
}

TEST(LegacyModelOptimizer, MomentsThatNobodyLooksAtAreLeft) {
  LegacyModelFile file;
  file.version = "1.1.2";
  file.training = compiled("SGD", R"({"lr": 0.5, "momentum": 0.0, "decay": 0.0})");
  file.optimizer = {{"Variable:0", HostTensor::scalar<float>(7)}};
  for (size_t i = 0; i < 5; ++i)
    file.optimizer.emplace_back(fmt::format("Variable_{}:0", i), slot(i, 100));
  const KerasFile read = file.read();
  EXPECT_TRUE(read.remarks.empty());
  EXPECT_EQ(read.optimizer->iterations, 7);
  EXPECT_TRUE(read.optimizer->variables.empty());
}

// keras#10806, tensorflow#53064, #16833: a state that does not fit is lost without a word.
TEST(LegacyModelOptimizer, AStateThatDoesNotFitBeginsAnewAndSaysWhy) {
  Tensors few = {{"Adam/iter:0", seven()}}, other_shape = few, unnamed = few, none = few;
  for (size_t i = 0; i < 4; ++i)
    for (const char* kind : {"m", "v"})
      few.emplace_back(fmt::format("Adam/{}/{}:0", kPaths[i], kind), slot(i, 100));
  for (size_t i = 0; i < 5; ++i)
    for (const char* kind : {"m", "v"}) {
      other_shape.emplace_back(fmt::format("Adam/{}/{}:0", kPaths[i], kind), numbered({3}, 1));
      unnamed.emplace_back(fmt::format("Variable_{}_{}", kind, i), slot(i, 100));
    }
  none.erase(none.begin());
  none.emplace_back("Variable_1:0", slot(0, 100));
  Tensors wide = few;
  for (size_t i = 0; i < 2; ++i)
    wide.emplace_back(fmt::format("adam/more_{}", i), numbered({5}, 1));
  for (const auto& [version, tensors, part] :
       {std::tuple{"2.4.0", few, "4 variables: 5 are trainable"},
        {"2.4.0", other_shape, "not the shape"},
        {"2.15.0", unnamed, "do not say whose"},
        {"2.2.4", few, "4 variables: 5"},
        {"3.15.1", few, "10 tensors for 5"},
        {"3.15.1", wide, "[5], which no trainable variable is"},
        {"2.2.4", none, "number of steps"}}) {
    const KerasFile read = with_adam(version, tensors).read();
    EXPECT_FALSE(read.optimizer) << part;
    ASSERT_EQ(read.remarks.size(), 1u) << part;
    EXPECT_NE(read.remarks[0].find("begins anew"), std::string::npos) << read.remarks[0];
    EXPECT_NE(read.remarks[0].find(part), std::string::npos) << read.remarks[0];
  }
}

}  // namespace
}  // namespace lockstep
