#include "lockstep/nn/compile_config.h"

#include "tests/nn/graph_test_util.h"

namespace lockstep {
namespace {

using Names = std::vector<std::string>;

CompileConfig read(const char* text, const Names& names) {
  Json json = Json::parse(text);
  if (!json.contains("optimizer")) json["optimizer"] = "sgd";
  return compile_config_from_json(json, names);
}

std::string class_of(const LossPtr& loss) {
  return loss ? std::string(loss->class_name()) : "none";
}

TEST(CompileConfig, OneOutput) {
  const CompileConfig config = read(
      R"({"loss": "mse", "metrics": ["mae", ["acc"]], "weighted_metrics": null,
          "loss_weights": null, "run_eagerly": false, "steps_per_execution": 1,
          "jit_compile": true})",
      {"dense"});
  ASSERT_EQ(config.outputs.size(), 1u);
  EXPECT_EQ(class_of(config.outputs[0].loss), "MeanSquaredError");
  EXPECT_EQ(config.outputs[0].metrics, (std::vector<Json>{"mae", "acc"}));
  EXPECT_TRUE(config.outputs[0].weighted_metrics.empty());
  EXPECT_EQ(config.optimizer->class_name(), "SGD");
  EXPECT_EQ(config.json["jit_compile"], true) << "kept as it came";
}

TEST(CompileConfig, ListsByPosition) {
  const CompileConfig config =
      read(R"({"loss": ["mse", "sparse_categorical_crossentropy"], "loss_weights": [0.3, 2.0],
               "metrics": [["mae"], "accuracy"], "weighted_metrics": [["mse"], null]})",
           {"a", "b"});
  EXPECT_EQ(class_of(config.outputs[1].loss), "SparseCategoricalCrossentropy");
  EXPECT_EQ(config.outputs[0].loss_weight, 0.3);
  EXPECT_EQ(config.outputs[1].loss_weight, 2.0);
  EXPECT_EQ(config.outputs[1].metrics, (std::vector<Json>{"accuracy"}));
  EXPECT_EQ(config.outputs[0].weighted_metrics, (std::vector<Json>{"mse"}));
  EXPECT_TRUE(config.outputs[1].weighted_metrics.empty());
}

TEST(CompileConfig, DictsByOutputName) {
  const CompileConfig config = read(
      R"({"loss": {"zz": "mae", "aa": "binary_crossentropy"}, "loss_weights": {"zz": 0.5},
          "metrics": {"zz": ["mse"], "aa": ["accuracy", "AUC"]}})",
      {"aa", "zz"});
  EXPECT_EQ(class_of(config.outputs[0].loss), "BinaryCrossentropy");
  EXPECT_EQ(class_of(config.outputs[1].loss), "MeanAbsoluteError");
  EXPECT_EQ(config.outputs[0].loss_weight, 1.0);
  EXPECT_EQ(config.outputs[1].loss_weight, 0.5);
  EXPECT_EQ(config.outputs[0].metrics, (std::vector<Json>{"accuracy", "AUC"}));
}

TEST(CompileConfig, OneLossForEveryOutputAndOutputsWithoutLoss) {
  CompileConfig config = read(R"({"loss": "mse"})", {"a", "b"});
  EXPECT_EQ(class_of(config.outputs[1].loss), "MeanSquaredError");
  config = read(R"({"loss": ["mse", null]})", {"a", "b"});
  EXPECT_EQ(class_of(config.outputs[0].loss), "MeanSquaredError");
  EXPECT_EQ(class_of(config.outputs[1].loss), "none");
  config = read(R"({"loss": {"class_name": "MeanAbsoluteError", "config": {}}})", {"a", "b"});
  EXPECT_EQ(class_of(config.outputs[1].loss), "MeanAbsoluteError");
  config = read(R"({"loss": null})", {"a"});
  EXPECT_EQ(class_of(config.outputs[0].loss), "none");
  config = read(R"({"loss": [["mse"]]})", {"a"});
  EXPECT_EQ(class_of(config.outputs[0].loss), "MeanSquaredError");
}

TEST(CompileConfig, WithoutAnOptimizerKerasTakesRmsprop) {
  EXPECT_EQ(
      compile_config_from_json(Json::parse(R"({"loss": "mse"})"), {"a"}).optimizer->class_name(),
      "RMSprop");
}

// The object of Keras 3.15.1 for model.compile("sgd"-like, ["mse", None], metrics=[["mae"], []]).
TEST(CompileConfig, JsonIsWhatKerasWrites) {
  CompileConfig config;
  config.optimizer = SGD();
  config.outputs.resize(2);
  config.outputs[0].loss = loss_from_config("mse");
  config.outputs[0].metrics = {"mae"};
  config.outputs[1].loss_weight = 0.5;
  Json json = compile_config_to_json(config);
  EXPECT_EQ(json["optimizer"], optimizer_to_config(*config.optimizer));
  json["optimizer"] = nullptr;
  EXPECT_EQ(json.dump(), R"({"optimizer":null,"loss":["mse",null],"loss_weights":[1.0,0.5],)"
                         R"("metrics":[["mae"],[]],"weighted_metrics":null,"run_eagerly":false,)"
                         R"("steps_per_execution":1,"jit_compile":false})");
}

TEST(CompileConfig, JsonOfOneOutputIsBare) {
  CompileConfig config;
  config.optimizer = Adam();
  config.outputs.resize(1);
  config.outputs[0].loss = CategoricalCrossentropy({.label_smoothing = 0.1});
  config.outputs[0].metrics = {"accuracy"};
  const Json json = compile_config_to_json(config);
  EXPECT_EQ(json["loss"]["config"]["label_smoothing"], 0.1);
  EXPECT_EQ(json["loss_weights"], nullptr);
  EXPECT_EQ(json["metrics"].dump(), R"(["accuracy"])");
  const CompileConfig copy = compile_config_from_json(json, {"dense"});
  EXPECT_EQ(compile_config_to_json(copy), json);
}

TEST(CompileConfig, ErrorsNameOutputsAndCounts) {
  expect_error(ErrorCode::kInvalidArgument,
               "[compile_config] `loss` must name outputs of the model: \"c\". It has \"a\", \"b\"",
               [] {
                 read(R"({"loss": {"c": "mse"}})", {"a", "b"});
               });
  expect_error(ErrorCode::kInvalidArgument,
               "`loss` must have one entry for each output: 3 for 2 (\"a\", \"b\")", [] {
                 read(R"({"loss": ["mse", "mse", "mse"]})", {"a", "b"});
               });
  expect_error(ErrorCode::kInvalidArgument, "`loss_weights` must have one entry for each output",
               [] {
                 read(R"({"loss": "mse", "loss_weights": 0.5})", {"a", "b"});
               });
  expect_error(ErrorCode::kInvalidArgument, "`loss_weights` must be numbers: \"x\" (output \"b\")",
               [] {
                 read(R"({"loss": "mse", "loss_weights": [1.0, "x"]})", {"a", "b"});
               });
  expect_error(ErrorCode::kInvalidArgument, "`metrics` must be a list or a dict by output name",
               [] { read(R"({"loss": "mse", "metrics": "mae"})", {"a"}); });
  expect_error(ErrorCode::kInvalidArgument, "`metrics` must name outputs of the model: \"x\"",
               [] { read(R"({"loss": "mse", "metrics": {"x": ["mae"]}})", {"a"}); });
  expect_error(ErrorCode::kUnsupported, "(output \"b\")", [] {
    read(R"({"loss": ["mse", "dice"]})", {"a", "b"});
  });
  expect_error(ErrorCode::kUnsupported, "`loss` must be one for each output",
               [] { read(R"({"loss": [["mse", "mae"]]})", {"a"}); });
  expect_error(ErrorCode::kUnsupported, "`run_eagerly` must be false",
               [] { read(R"({"loss": "mse", "run_eagerly": true})", {"a"}); });
  expect_error(ErrorCode::kInvalidArgument, "unknown field: \"los\"",
               [] { read(R"({"los": "mse"})", {"a"}); });
  expect_error(ErrorCode::kInvalidArgument, "it must be a JSON object: 3",
               [] { compile_config_from_json(Json(3), {"a"}); });
}

}  // namespace
}  // namespace lockstep
