// What the tests of training share: a small model, its data, and who is equal to whom.
#pragma once

#include "lockstep/lockstep.h"
#include "lockstep/tensor/philox.h"
#include "tests/formats/format_test_util.h"

namespace lockstep {

/// Evenly spread in [-1, 1).
inline HostTensor noise(const Shape& shape, uint64_t seed) {
  HostTensor tensor(DType::kF32, shape);
  PhiloxStream stream(philox_key(seed, RandomPurpose::kInit, "noise"));
  for (float& value : tensor.data<float>()) value = static_cast<float>(stream.uniform() * 2 - 1);
  return tensor;
}

inline HostTensor labels(int64_t rows, int64_t classes, uint64_t seed = 1) {
  HostTensor tensor(DType::kS32, {rows});
  PhiloxStream stream(philox_key(seed, RandomPurpose::kInit, "labels"));
  for (int32_t& value : tensor.data<int32_t>())
    value = static_cast<int32_t>(stream.below(static_cast<uint64_t>(classes)));
  return tensor;
}

/// 4 numbers to 3 classes, not compiled. The input is called "in", the output "out".
inline Model uncompiled_classifier() {
  const Tensor x = Input({4}, {.name = "in"});
  const Tensor h = Dense({.units = 8, .activation = "tanh"})(x);
  return {x, Dense({.units = 3, .activation = "softmax", .name = "out"})(h), "classifier"};
}

inline Model classifier(const LossSpec& loss = "sparse_categorical_crossentropy") {
  Model model = uncompiled_classifier();
  model.compile({.optimizer = Adam(), .loss = {loss}, .metrics = {"accuracy"}});
  return model;
}

inline DatasetPtr class_data(int64_t rows, uint64_t seed = 1) {
  return dataset(noise({rows, 4}, seed), labels(rows, 3, seed));
}

/// Columns of any names.
inline ArrayDataset::Array column(Column::Role role, const std::string& name, HostTensor tensor) {
  return {{role, name, {}, {}}, std::move(tensor)};
}
inline DatasetPtr columns(std::vector<ArrayDataset::Array> arrays) {
  return std::make_shared<ArrayDataset>(std::move(arrays));
}

inline void expect_same_bits(const std::vector<HostTensor>& a, const std::vector<HostTensor>& b) {
  ASSERT_EQ(a.size(), b.size());
  for (size_t i = 0; i < a.size(); ++i) EXPECT_TRUE(a[i].same_bits(b[i])) << "tensor " << i;
}

/// Weights and all that the optimizer remembers.
inline void expect_same_training(Model& a, Model& b) {
  expect_same_bits(a.get_weights(), b.get_weights());
  const OptimizerState x = a.optimizer_state(), y = b.optimizer_state();
  EXPECT_EQ(x.iterations, y.iterations);
  EXPECT_EQ(x.learning_rate, y.learning_rate);
  ASSERT_EQ(x.variables.size(), y.variables.size());
  for (size_t i = 0; i < x.variables.size(); ++i)
    EXPECT_TRUE(x.variables[i].value.same_bits(y.variables[i].value)) << x.variables[i].name;
}

}  // namespace lockstep
