// Keras's configurations of whole models, read and written back: data/models.json holds the
// config.json of models saved by Keras 3.15.1; Keras 2's spellings and damaged ones are below.
#include <algorithm>

#include "layer_test_util.h"
#include "lockstep/nn/layers/dense.h"
#include "lockstep/nn/layers/reshaping.h"
#include "lockstep/nn/registry.h"

namespace lockstep {
namespace {

const Json& models() {
  static const Json json = read_json_file("models.json");
  return json;
}

std::vector<std::string> model_names() {
  std::vector<std::string> names;
  for (const auto& [name, model] : models().items()) names.push_back(name);
  return names;
}

std::vector<std::string> paths(const std::vector<VariablePtr>& variables) {
  std::vector<std::string> result;
  for (const VariablePtr& variable : variables) result.push_back(variable->path);
  return result;
}

class SavedModel : public testing::TestWithParam<std::string> {};

TEST_P(SavedModel, ComesBackAsItWas) {
  const Json& want = models()[GetParam()];
  const NetworkPtr network = network_from_config(want);
  EXPECT_TRUE(same_json(network_to_config(*network), want))
      << network_to_config(*network).dump() << "\n"
      << want.dump();
}

TEST_P(SavedModel, ReadsWhatItWrote) {
  const NetworkPtr network = network_from_config(models()[GetParam()]);
  const NetworkPtr again = network_from_config(network_to_config(*network));
  EXPECT_EQ(network_to_config(*again), network_to_config(*network));
  EXPECT_EQ(paths(again->all_variables()), paths(network->all_variables()));
}

INSTANTIATE_TEST_SUITE_P(Keras, SavedModel, testing::ValuesIn(model_names()),
                         [](const testing::TestParamInfo<std::string>& info) {
                           std::string name = info.param;
                           std::replace(name.begin(), name.end(), '-', '_');
                           return name;
                         });

TEST(SavedModels, KeysStandInKerasOrder) {
  const Json& want = models()["dense-relu"];
  EXPECT_EQ(network_to_config(*network_from_config(want)).dump(), want.dump());
}

TEST(SavedModels, DictsAreFlattenedByKey) {
  const NetworkPtr network = network_from_config(models()["functional-dict-output"]);
  EXPECT_EQ(network->output_names(), (std::vector<std::string>{"a", "p"}));
  EXPECT_EQ(network->output_structure().keys, (std::vector<std::string>{"p", "a"}));
}

TEST(SavedModels, FrozenPartsStayFrozen) {
  const NetworkPtr gan = network_from_config(models()["gan-frozen-discriminator"]);
  EXPECT_EQ(
      paths(gan->trainable_variables()),
      (std::vector<std::string>{"sequential/dense/kernel", "sequential/batch_normalization/gamma",
                                "sequential/batch_normalization/beta", "sequential/dense_1/kernel",
                                "sequential/dense_1/bias"}));
  EXPECT_FALSE(gan->get_layer("sequential_1")->trainable());
}

TEST(SavedModels, ASequentialForgetsItsFlagWhereItsLayersDisagree) {
  Json json = network_to_config(*Network::sequential({Dense({.units = 1})}, TensorSpec{{-1, 2}}));
  json["config"]["trainable"] = false;
  EXPECT_TRUE(network_from_config(json)->trainable());
}

TEST(SavedModels, AnUnbuiltSequentialStaysUnbuilt) {
  const NetworkPtr network = Network::sequential({Dense({.units = 1, .name = "d"})});
  const Json json = network_to_config(*network);
  EXPECT_FALSE(json.contains("build_config"));
  EXPECT_FALSE(json["config"].contains("build_input_shape"));
  EXPECT_TRUE(network_from_config(json)->inputs().empty());
}

// -- Keras 2

Json dense2(std::string name, int units) {
  return {{"class_name", "Dense"},
          {"config",
           {{"name", name},
            {"trainable", true},
            {"dtype", "float32"},
            {"units", units},
            {"activation", "linear"},
            {"use_bias", true},
            {"activity_regularizer", nullptr}}}};
}

Json input2(std::string name, int extent) {
  return {{"class_name", "InputLayer"},
          {"config",
           {{"name", name},
            {"batch_input_shape", {nullptr, extent}},
            {"dtype", "float32"},
            {"sparse", false}}}};
}

Json with_nodes(Json layer, Json nodes) {
  layer["name"] = layer["config"]["name"];
  layer["inbound_nodes"] = std::move(nodes);
  return layer;
}

TEST(Keras2, SequentialTakesItsInputFromTheFirstLayer) {
  Json first = dense2("d", 2);
  first["config"]["batch_input_shape"] = {nullptr, 3};
  const Json layers = Json::array({first, dense2("e", 1)});
  for (const Json& config : {layers, Json{{"name", "s"}, {"layers", layers}}}) {
    const NetworkPtr network =
        network_from_config({{"class_name", "Sequential"}, {"config", config}});
    EXPECT_EQ(paths(network->all_variables()),
              (std::vector<std::string>{"d/kernel", "d/bias", "e/kernel", "e/bias"}));
    EXPECT_EQ(network->inputs()[0].spec.shape, (Shape{-1, 3}));
  }
}

TEST(Keras2, FunctionalCountsAnInnerModelsCallsFromOne) {
  const Json inner = {
      {"class_name", "Sequential"},
      {"config", {{"name", "inner"}, {"layers", Json::array({input2("i", 3), dense2("d", 3)})}}}};
  const auto node = [](const char* layer, int index) {
    return Json::array({Json::array({Json::array({layer, index, 0, Json::object()})})});
  };
  Json config{{"name", "model"}};
  config["layers"] =
      Json::array({with_nodes(input2("x", 3), Json::array()), with_nodes(inner, node("x", 0)),
                   with_nodes(dense2("out", 1), node("inner", 1))});
  config["input_layers"] = Json::array({Json::array({"x", 0, 0})});
  config["output_layers"] = Json::array({Json::array({"out", 0, 0})});
  const NetworkPtr network = network_from_config({{"class_name", "Model"}, {"config", config}});
  EXPECT_EQ(paths(network->all_variables()),
            (std::vector<std::string>{"inner/d/kernel", "inner/d/bias", "out/kernel", "out/bias"}));
}

TEST(Keras2, FormerSpellings) {
  const LayerPtr leaky = layer_from_config(
      {{"class_name", "LeakyReLU"}, {"config", {{"name", "l"}, {"alpha", 0.25}}}});
  EXPECT_EQ(leaky->config()["negative_slope"], 0.25);
  const LayerPtr normalization = layer_from_config(
      {{"class_name", "BatchNormalization"}, {"config", {{"name", "b"}, {"axis", {3}}}}});
  EXPECT_EQ(normalization->config()["axis"], 3);
}

// -- refusals

Json chain() {
  return models()["functional-nested"];
}

void expect_refused(ErrorCode code, std::string_view text, const Json& json) {
  expect_error(code, text, [&] { network_from_config(json); });
}

TEST(Refused, WhatLockstepLacksIsNamed) {
  const auto layer = [](Json json) {
    return Json{{"class_name", "Sequential"}, {"config", {{"layers", Json::array({json})}}}};
  };
  expect_refused(ErrorCode::kUnsupported, "[model] unsupported layer LSTM",
                 layer({{"class_name", "LSTM"}, {"config", Json::object()}}));
  expect_refused(ErrorCode::kUnsupported, "unsupported object keras.src.ops.numpy:Add",
                 layer({{"module", "keras.src.ops.numpy"}, {"class_name", "Add"}}));
  expect_refused(ErrorCode::kUnsupported, "unsupported model class Transformer",
                 {{"class_name", "Transformer"}, {"config", Json::object()}});
  expect_refused(ErrorCode::kUnsupported, "a subclass without a graph of layers",
                 {{"class_name", "Functional"}, {"config", Json::object()}});
  Json dense = dense2("d", 1);
  dense["config"]["dtype"] = "mixed_bfloat16";
  expect_refused(ErrorCode::kUnsupported,
                 "[Dense \"d\"] unsupported dtype policy \"mixed_bfloat16\"", layer(dense));
  dense = dense2("d", 1);
  dense["config"]["lora_rank"] = 4;
  expect_refused(ErrorCode::kUnsupported, "[Dense \"d\"] unsupported field `lora_rank`: 4",
                 layer(dense));
  dense = dense2("d", 1);
  dense["config"]["kernel_initializer"] = "stft";
  expect_refused(ErrorCode::kUnsupported, "unsupported initializer stft", layer(dense));
  expect_refused(ErrorCode::kUnsupported, "unsupported `data_format` \"channels_first\"",
                 layer({{"class_name", "Flatten"},
                        {"config", {{"name", "f"}, {"data_format", "channels_first"}}}}));
  expect_refused(ErrorCode::kUnsupported, "unsupported `axis`: one integer is known, [1,2] came",
                 layer({{"class_name", "Softmax"}, {"config", {{"axis", {1, 2}}}}}));
  expect_refused(ErrorCode::kUnsupported, "unsupported `renorm` true",
                 layer({{"class_name", "BatchNormalization"}, {"config", {{"renorm", true}}}}));
}

TEST(Refused, WrongTypesNameClassLayerAndField) {
  const auto refused = [](std::string_view text, const char* class_name, Json config) {
    config["name"] = "x";
    expect_error(ErrorCode::kInvalidArgument, text, [&] {
      layer_from_config({{"class_name", class_name}, {"config", config}});
    });
  };
  refused("[Dense \"x\"] `units` must be an integer: \"10\"", "Dense", {{"units", "10"}});
  refused("`use_bias` must be true or false: 1", "Dense", {{"use_bias", 1}});
  refused("[Dropout \"x\"] `rate` must be a number: null", "Dropout", {{"rate", nullptr}});
  refused("`kernel_size` must be an integer or two: [1,2,3]", "Conv2D",
          {{"kernel_size", {1, 2, 3}}});
  refused("`padding` must be a string: 3", "Conv2D", {{"padding", 3}});
  refused("`padding` must be an integer, two, or [[top, bottom], [left, right]]", "ZeroPadding2D",
          {{"padding", "all"}});
  refused("`target_shape` must be a list of integers: [1.5]", "Reshape", {{"target_shape", {1.5}}});
  refused("`batch_shape` must be there", "InputLayer", Json::object());
  refused("`batch_shape` must be integers and nulls", "InputLayer", {{"batch_shape", {"a"}}});
}

TEST(Refused, GraphsThatDoNotHoldTogether) {
  const auto history = [](Json& json, int layer) -> Json& {
    return json["config"]["layers"][layer]["inbound_nodes"][0]["args"][0]["config"]
               ["keras_history"];
  };
  Json json = chain();
  history(json, 1)[0] = "dense_2";
  expect_refused(ErrorCode::kInvalidArgument, "must not have loops or missing tensors", json);
  json = chain();
  history(json, 1)[0] = "nobody";
  expect_refused(ErrorCode::kInvalidArgument, "a tensor comes from an unknown layer: \"nobody\"",
                 json);
  json = chain();
  history(json, 1)[2] = 1;
  expect_refused(ErrorCode::kInvalidArgument, "has 1 results: number 1 is asked for", json);
  json = chain();
  json["config"]["output_layers"] = {"dense_2", 3, 0};
  expect_refused(ErrorCode::kInvalidArgument, "there is no tensor [\"dense_2\", 3, 0]", json);
  json = chain();
  json["config"]["input_layers"] = "input";
  expect_refused(ErrorCode::kInvalidArgument, "`input_layers` must be a tensor, a list or a dict",
                 json);
  json = chain();
  json["config"]["layers"].push_back(json["config"]["layers"][0]);
  expect_refused(ErrorCode::kInvalidArgument, "two are called \"input_layer_1\"", json);
  json = chain();
  json["config"]["layers"][1]["inbound_nodes"][0]["kwargs"]["mask"] = {{"a", 1}};
  expect_refused(ErrorCode::kUnsupported, "unsupported call argument `mask`", json);
  json = chain();
  json["config"]["layers"][1]["inbound_nodes"][0]["args"].push_back(2.0);
  expect_refused(ErrorCode::kUnsupported, "unsupported call with 2 arguments", json);
}

TEST(Refused, EndlessNesting) {
  Json json = 1;
  for (int i = 0; i < 300; ++i) json = Json::array({json});
  expect_refused(ErrorCode::kInvalidArgument, "must not be nested deeper than 200 levels",
                 {{"class_name", "Sequential"}, {"config", json}});
}

TEST(Docs, ListEveryClassWithItsDefaults) {
  const std::string text = layers_markdown();
  for (const LayerClass& row : layer_classes())
    EXPECT_NE(text.find(fmt::format("## {}\n", row.class_name)), std::string::npos);
  EXPECT_NE(text.find("| `kernel_initializer` | `GlorotUniform` |"), std::string::npos);
  EXPECT_NE(text.find("| `momentum` | `0.99` |"), std::string::npos);
}

}  // namespace
}  // namespace lockstep
