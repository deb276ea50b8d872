// The first promise as a property: whatever the devices, the placement and who is slow, the same
// bits.
#include <gtest/gtest.h>

#include <chrono>
#include <random>
#include <thread>

#include "lockstep/lockstep.h"
#include "lockstep/tensor/philox.h"

namespace lockstep {
namespace {

HostTensor noise(const Shape& shape, uint64_t seed) {
  HostTensor tensor(DType::kF32, shape);
  PhiloxStream stream(philox_key(seed, RandomPurpose::kInit, "noise"));
  for (float& value : tensor.data<float>()) value = static_cast<float>(stream.uniform() * 2 - 1);
  return tensor;
}

HostTensor labels(int64_t rows, int64_t classes, uint64_t seed, bool with_ignored) {
  HostTensor tensor(DType::kS32, {rows});
  PhiloxStream stream(philox_key(seed, RandomPurpose::kInit, "labels"));
  for (int32_t& value : tensor.data<int32_t>())
    value = static_cast<int32_t>(stream.below(static_cast<uint64_t>(classes)));
  for (size_t i = 0; with_ignored && i < static_cast<size_t>(rows); i += 3)
    tensor.data<int32_t>()[i] = -1;
  return tensor;
}

/// A small network with everything that sums over rows, and two outputs.
struct Recipe {
  bool synchronized = false;
  Json optimizer_config = Json::object();
};

Model make_model(const Recipe& recipe) {
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

Outcome train(const Recipe& recipe, const DatasetPtr& data, FitArguments arguments) {
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

DatasetPtr make_data(int64_t rows) {
  return std::make_shared<ArrayDataset>(std::vector<ArrayDataset::Array>{
      {{Column::Role::kInput, "", {}, {}}, noise({rows, 6, 6, 2}, 1)},
      {{Column::Role::kTarget, "classes", {}, {}}, labels(rows, 5, 2, true)},
      {{Column::Role::kTarget, "value", {}, {}}, noise({rows, 3}, 3)},
      {{Column::Role::kSampleWeight, "value", {}, {}}, noise({rows}, 4)}});
}

class SameBits : public testing::TestWithParam<int> {};

TEST_P(SameBits, OnAnyDevices) {
  std::mt19937 random(static_cast<unsigned>(GetParam()));
  const auto pick = [&](std::initializer_list<int> values) {
    return *(values.begin() + random() % values.size());
  };
  Recipe recipe;
  recipe.synchronized = pick({0, 1}) == 1;
  const int clip = pick({0, 1, 2});
  if (clip == 1) recipe.optimizer_config["clipnorm"] = 0.5;
  if (clip == 2) recipe.optimizer_config["global_clipnorm"] = 0.5;
  if (pick({0, 1}) == 1) recipe.optimizer_config["use_ema"] = true;
  if (pick({0, 1}) == 1) recipe.optimizer_config["gradient_accumulation_steps"] = 3;
  const int64_t towers = 1 + static_cast<int64_t>(random() % 17);
  const int64_t tower_size = 1 + static_cast<int64_t>(random() % 4), batch = towers * tower_size;
  const DatasetPtr data = make_data(2 * batch + 1);  // a last batch of one row
  const Outcome want =
      train(recipe, data, {.batch_size = batch, .devices = "cpu:1", .tower_size = tower_size});
  for (const int devices : {2, 3, 5, 7})
    for (const Placement placement : {Placement::kStatic, Placement::kDynamic}) {
      FitArguments arguments{.batch_size = batch,
                             .devices = fmt::format("cpu:{}", devices),
                             .tower_size = tower_size,
                             .placement = placement};
      const int slow = static_cast<int>(random() % static_cast<unsigned>(devices));
      arguments.before_tower = [slow](int device, int) {
        if (device == slow) std::this_thread::sleep_for(std::chrono::microseconds(300));
      };
      const Outcome got = train(recipe, data, arguments);
      ASSERT_EQ(got.tensors.size(), want.tensors.size());
      for (size_t i = 0; i < got.tensors.size(); ++i)
        ASSERT_TRUE(got.tensors[i].same_bits(want.tensors[i]))
            << "tensor " << i << ", " << devices << " devices, " << towers << " towers";
      ASSERT_EQ(got.numbers, want.numbers) << devices << " devices";
    }
}

INSTANTIATE_TEST_SUITE_P(Draws, SameBits, testing::Range(0, 12));

/// Largest difference of the first normalisation's moving variance between the whole batch of 24 in
/// one tower and four towers. (Moving means are equal without any exchange.)
float variance_gap(bool synchronized) {
  const Recipe recipe{.synchronized = synchronized};
  const DatasetPtr data = make_data(24);
  Model whole = make_model(recipe), cut = make_model(recipe);
  FitArguments arguments{.batch_size = 24, .verbose = 0, .devices = "cpu:2", .tower_size = 24};
  whole.fit(data, arguments);
  arguments.tower_size = 6;
  cut.fit(data, arguments);
  const size_t moving_variance = 5;
  const HostTensor a = whole.get_weights()[moving_variance], b = cut.get_weights()[moving_variance];
  float gap = 0;
  for (size_t i = 0; i < static_cast<size_t>(a.size()); ++i)
    gap = std::max(gap, std::abs(a.data<float>()[i] - b.data<float>()[i]));
  return gap;
}

TEST(SynchronizedBatchNorm, EqualsTheWholeBatchInOneTower) {
  EXPECT_LT(variance_gap(true), 1e-6);
}

TEST(SynchronizedBatchNorm, IsNotWhatTowersDoByThemselves) {
  EXPECT_GT(variance_gap(false), 1e-5);
}

}  // namespace
}  // namespace lockstep
