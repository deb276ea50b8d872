// XLA's devices against the CPU backend: the same training up to rounding, dropout masks and all.
#include <gtest/gtest.h>

#include <cmath>
#include <functional>

#include "lockstep/lockstep.h"
#include "lockstep/zoo/zoo.h"
#include "tests/train/same_bits.h"

namespace lockstep {
namespace {

DatasetPtr images(int64_t rows) {
  const HostTensor x = same_bits::noise({rows, 28, 28, 1}, 1);
  const HostTensor classes = same_bits::labels(rows, 10, 2, false);
  HostTensor y(DType::kF32, {rows, 10});
  for (size_t i = 0; i < static_cast<size_t>(rows); ++i)
    y.data<float>()[i * 10 + static_cast<size_t>(classes.data<int32_t>()[i])] = 1;
  return std::make_shared<ArrayDataset>(std::vector<ArrayDataset::Array>{
      {{Column::Role::kInput, "", {}, {}}, x}, {{Column::Role::kTarget, "", {}, {}}, y}});
}

TEST(Agreement, SeedCnnForTwentySteps) {
  const DatasetPtr data = images(20 * 16);
  std::vector<std::vector<double>> losses;
  std::vector<std::vector<HostTensor>> weights;
  for (const char* devices : {"cpu:2", "xla_cpu:2"}) {
    Model model(zoo_model("mnist_cnn"));
    model.compile_from_config(zoo_compile_config("mnist_cnn"));
    const History history = model.fit(
        data, {.batch_size = 16, .seed = 3, .verbose = 0, .devices = devices, .tower_size = 8});
    losses.push_back(history.step_losses);
    weights.push_back(model.get_weights());
  }
  ASSERT_EQ(losses[0].size(), 20u);
  for (size_t step = 0; step < 20; ++step)
    EXPECT_NEAR(losses[1][step] / losses[0][step], 1.0, 1e-4) << "step " << step;
  for (size_t i = 0; i < weights[0].size(); ++i) {
    const auto a = weights[0][i].data<float>(), b = weights[1][i].data<float>();
    float largest = 0, difference = 0;
    for (size_t j = 0; j < a.size(); ++j) {
      largest = std::max(largest, std::abs(a[j]));
      difference = std::max(difference, std::abs(a[j] - b[j]));
    }
    // 5e-4 where this was written; Adam makes much of little, on other processors perhaps more.
    EXPECT_LE(difference, 2e-3f * largest) << "weight " << i;
  }
}

/// Everything that sums over rows, layers called twice among it.
TEST(Agreement, OfEveryKindOfState) {
  for (const bool synchronized : {false, true}) {
    same_bits::Recipe recipe{.synchronized = synchronized};
    // A bias before a normalisation has a gradient of rounding noise, which Adam's own epsilon
    // would turn into steps of full length.
    recipe.optimizer_config = {
        {"clipnorm", 0.5}, {"use_ema", true}, {"weight_decay", 0.01}, {"epsilon", 0.01}};
    const DatasetPtr data = same_bits::make_data(24);
    const auto on = [&](const char* devices) {
      return same_bits::train(recipe, data,
                              {.batch_size = 12, .devices = devices, .tower_size = 3});
    };
    const same_bits::Outcome want = on("cpu:2"), got = on("xla_cpu:2");
    ASSERT_EQ(got.tensors.size(), want.tensors.size());
    for (size_t i = 0; i < want.tensors.size(); ++i) {
      const auto a = want.tensors[i].data<float>(), b = got.tensors[i].data<float>();
      for (size_t j = 0; j < a.size(); ++j)
        ASSERT_NEAR(a[j], b[j], 1e-4f * (1 + std::abs(a[j]))) << "tensor " << i << " at " << j;
    }
    for (size_t i = 0; i < want.numbers.size(); ++i)
      EXPECT_NEAR(got.numbers[i], want.numbers[i], 1e-4 * (1 + std::abs(want.numbers[i])));
  }
}

/// Largest difference of weights after two steps of SGD on the two kinds of devices.
float largest_difference(const std::function<Model()>& make, int64_t features) {
  const DatasetPtr data = std::make_shared<ArrayDataset>(std::vector<ArrayDataset::Array>{
      {{Column::Role::kInput, "", {}, {}}, same_bits::noise({16, features}, 1)},
      {{Column::Role::kTarget, "", {}, {}}, same_bits::noise({16, 2}, 2)}});
  std::vector<std::vector<HostTensor>> weights;
  for (const char* devices : {"cpu:2", "xla_cpu:2"}) {
    Model model = make();
    model.compile({.optimizer = SGD({.learning_rate = 0.1}), .loss = "mse"});
    FitArguments arguments{.batch_size = 8, .seed = 1, .verbose = 0};
    arguments.devices = devices;
    arguments.tower_size = 4;
    model.fit(data, arguments);
    weights.push_back(model.get_weights());
  }
  float largest = 0;
  for (size_t i = 0; i < weights[0].size(); ++i)
    for (size_t j = 0; j < static_cast<size_t>(weights[0][i].size()); ++j)
      largest = std::max(largest,
                         std::abs(weights[0][i].data<float>()[j] - weights[1][i].data<float>()[j]));
  return largest;
}

TEST(Agreement, OfVariablesAlikeInAllButTheirPenaltiesAndConstraints) {
  const auto make = [] {
    const Tensor x = Input({8});
    Tensor h = Dense({.units = 8,
                      .kernel_regularizer = L2(0.5),
                      .kernel_constraint = MaxNorm({.max_value = 0.5})})(x);
    h = Dense({.units = 8,
               .kernel_regularizer = L2(1e-4),
               .kernel_constraint = MaxNorm({.max_value = 3})})(h);
    h = Dense({.units = 8, .kernel_regularizer = L1(0.1)})(h);
    h = Dense({.units = 8, .kernel_regularizer = L1(1e-3)})(h);
    return Model(x, Dense({.units = 2})(h));
  };
  EXPECT_LT(largest_difference(make, 8), 1e-5f);
}

/// Three pieces, two of them of one size.
TEST(Agreement, OfVariablesInSeveralPieces) {
  const auto make = [] {
    const Tensor x = Input({1500});
    return Model(x, Dense({.units = 2})(Dense({.units = 1500, .activation = "tanh"})(x)));
  };
  EXPECT_LT(largest_difference(make, 1500), 1e-5f);
}

}  // namespace
}  // namespace lockstep
