// A small network with everything that sums over rows, trained with options drawn at random: what
// the property tests of equal bits share.
#pragma once

#include <gtest/gtest.h>

#include <random>

#include "lockstep/lockstep.h"
#include "lockstep/tensor/philox.h"

namespace lockstep::same_bits {

inline HostTensor noise(const Shape& shape, uint64_t seed) {
  HostTensor tensor(DType::kF32, shape);
  PhiloxStream stream(philox_key(seed, RandomPurpose::kInit, "noise"));
  for (float& value : tensor.data<float>()) value = static_cast<float>(stream.uniform() * 2 - 1);
  return tensor;
}

inline HostTensor labels(int64_t rows, int64_t classes, uint64_t seed, bool with_ignored) {
  HostTensor tensor(DType::kS32, {rows});
  PhiloxStream stream(philox_key(seed, RandomPurpose::kInit, "labels"));
  for (int32_t& value : tensor.data<int32_t>())
    value = static_cast<int32_t>(stream.below(static_cast<uint64_t>(classes)));
  for (size_t i = 0; with_ignored && i < static_cast<size_t>(rows); i += 3)
    tensor.data<int32_t>()[i] = -1;
  return tensor;
}

struct Recipe {
  bool synchronized = false;
  Json optimizer_config = Json::object();
};

/// Two outputs; frozen, shared and perhaps synchronized normalisation.
inline Model make_model(const Recipe& recipe) {
  const Tensor x = Input({6, 6, 2});
  Tensor h =
      Conv2D({.filters = 4, .kernel_size = 3, .activation = "selu", .kernel_regularizer = "l2"})(x);
  h = BatchNormalization({.synchronized = recipe.synchronized})(h);
  h = Dropout({.rate = 0.3})(h);
  h = Flatten(FlattenConfig{})(h);
  const LayerHandle shared = BatchNormalization(BatchNormalizationConfig{});
  h = Add()({shared(h), shared(h)});
  const LayerHandle frozen = BatchNormalization(BatchNormalizationConfig{});
  frozen.layer()->set_trainable(false);
  h = frozen(h);
  const Tensor classes = Dense(
      {.units = 5, .activation = "softmax", .kernel_constraint = "max_norm", .name = "classes"})(h);
  const Tensor value = Dense({.units = 3, .name = "value"})(h);
  Model model({x}, {classes, value}, "net");
  Json config;
  config["optimizer"] = {{"class_name", "Adam"}, {"config", recipe.optimizer_config}};
  config["loss"] = {
      Json{{"class_name", "SparseCategoricalCrossentropy"}, {"config", {{"ignore_class", -1}}}},
      "mse"};
  config["metrics"] = {Json::array({"accuracy"}), Json::array({"mae"})};
  model.compile_from_config(config);
  return model;
}

struct Outcome {
  std::vector<HostTensor> tensors;
  std::vector<double> numbers;
};

inline Outcome train(const Recipe& recipe, const DatasetPtr& data, FitArguments arguments) {
  Model model = make_model(recipe);
  arguments.verbose = 0;
  arguments.seed = 7;
  arguments.epochs = 2;
  const History history = model.fit(data, arguments);
  Outcome outcome;
  outcome.tensors = model.get_weights();
  for (OptimizerVariable& variable : model.optimizer_state().variables)
    outcome.tensors.push_back(std::move(variable.value));
  outcome.numbers = history.step_losses;
  for (const auto& [name, values] : history.all())
    outcome.numbers.insert(outcome.numbers.end(), values.begin(), values.end());
  return outcome;
}

inline DatasetPtr make_data(int64_t rows) {
  return std::make_shared<ArrayDataset>(std::vector<ArrayDataset::Array>{
      {{Column::Role::kInput, "", {}, {}}, noise({rows, 6, 6, 2}, 1)},
      {{Column::Role::kTarget, "classes", {}, {}}, labels(rows, 5, 2, true)},
      {{Column::Role::kTarget, "value", {}, {}}, noise({rows, 3}, 3)},
      {{Column::Role::kSampleWeight, "value", {}, {}}, noise({rows}, 4)}});
}

/// A training drawn from `seed`: 1 to 17 towers, a last batch of one row.
struct Draw {
  Recipe recipe;
  int64_t towers, tower_size, batch;
  DatasetPtr data;

  explicit Draw(std::mt19937& random) {
    const auto pick = [&](std::initializer_list<int> values) {
      return *(values.begin() + random() % values.size());
    };
    recipe.synchronized = pick({0, 1}) == 1;
    const int clip = pick({0, 1, 2});
    if (clip == 1) recipe.optimizer_config["clipnorm"] = 0.5;
    if (clip == 2) recipe.optimizer_config["global_clipnorm"] = 0.5;
    if (pick({0, 1}) == 1) recipe.optimizer_config["use_ema"] = true;
    if (pick({0, 1}) == 1) recipe.optimizer_config["gradient_accumulation_steps"] = 3;
    towers = 1 + static_cast<int64_t>(random() % 17);
    tower_size = 1 + static_cast<int64_t>(random() % 4), batch = towers * tower_size;
    data = make_data(2 * batch + 1);
  }
};

inline void expect_same(const Outcome& got, const Outcome& want, const std::string& what) {
  ASSERT_EQ(got.tensors.size(), want.tensors.size());
  for (size_t i = 0; i < got.tensors.size(); ++i)
    ASSERT_TRUE(got.tensors[i].same_bits(want.tensors[i])) << "tensor " << i << ", " << what;
  ASSERT_EQ(got.numbers, want.numbers) << what;
}

}  // namespace lockstep::same_bits
