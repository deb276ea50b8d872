// Models of .h5 files in use, and weights that go from one model into another.
#include <cmath>

#include "lockstep/formats/hdf5.h"
#include "lockstep/formats/json.h"
#include "tests/train/train_test_util.h"

namespace lockstep {
namespace {

std::filesystem::path data(const char* name) {
  return std::filesystem::path(LOCKSTEP_SOURCE_DIR) / "tests/io/data/legacy" / name;
}

/// As record_legacy_files.py makes it.
HostTensor sequence(const Shape& shape) {
  HostTensor tensor(DType::kF32, shape);
  float i = 0;
  for (float& value : tensor.data<float>()) value = (std::fmod(i++ * 5, 17.0f) - 8) / 8;
  return tensor;
}

HostTensor alternating(int64_t rows) {
  HostTensor tensor(DType::kF32, {rows, 1});
  float i = 0;
  for (float& value : tensor.data<float>()) value = std::fmod(i++, 2.0f);
  return tensor;
}

// Keras 3.15.1 itself cannot train such a file on: it builds the optimizer on no variables.
TEST(LegacyModelInUse, PredictsAndTrainsOnAsKerasWouldHave) {
  const Json recorded = parse_json(read_file(data("gan.json")), "gan.json");
  Model model = Model::load(data("gan.h5"));
  const HostTensor prediction = model.predict_on_batch(sequence({8, 3}))[0].tensor;
  for (size_t i = 0; i < 8; ++i)
    EXPECT_NEAR(prediction.data<float>()[i], recorded["prediction"][i].get<double>(), 1e-6);
  const Logs logs = model.train_on_batch(sequence({4, 3}), alternating(4), {.devices = "cpu:1"});
  EXPECT_NEAR(logs[0].second, recorded["next_loss"].get<double>(), 1e-6);
  EXPECT_EQ(model.optimizer_state().iterations, 3);
}

// tensorflow#35942: the file does not care how many devices there are.
TEST(LegacyModelInUse, DeviceCountsGiveTheSameBits) {
  Model one = Model::load(data("gan.h5")), two = Model::load(data("gan.h5"));
  one.train_on_batch(sequence({8, 3}), alternating(8), {.devices = "cpu:1"});
  two.train_on_batch(sequence({8, 3}), alternating(8), {.devices = "cpu:2"});
  expect_same_training(one, two);
}

TEST(LegacyModelInUse, WhatWasLeftIsSaidToTheSink) {
  const TemporaryFolder folder;
  Model model = classifier();
  Hdf5Writer h5;
  h5.add_text_attribute("", "model_config", dump_json(network_to_config(*model.network())));
  h5.add_text_attribute("", "training_config", R"({"loss": "my_loss"})");
  h5.add_group("model_weights");
  std::vector<std::string> layers;
  for (const LayerPtr& layer : model.network()->layers()) {
    layers.push_back(layer->name());
    std::vector<std::string> names;
    model.get_weights();
    for (const VariablePtr& variable : layer->variables()) {
      names.push_back(variable->path);
      h5.add_dataset("model_weights/" + layer->name() + "/" + variable->path, variable->value);
    }
    h5.add_group("model_weights/" + layer->name());
    h5.add_text_list_attribute("model_weights/" + layer->name(), "weight_names", names);
  }
  h5.add_text_list_attribute("model_weights", "layer_names", layers);
  write_file_atomically(folder / "m.h5", h5.finish());
  std::vector<std::string> lines;
  Model loaded =
      Model::load(folder / "m.h5", [&](std::string_view line) { lines.emplace_back(line); });
  ASSERT_EQ(lines.size(), 1u);
  EXPECT_NE(lines[0].find("my_loss"), std::string::npos);
  EXPECT_FALSE(loaded.is_compiled());
  expect_same_bits(loaded.get_weights(), model.get_weights());
}

// keras#23475: saving .h5 changes the live model.
TEST(SavingWeights, ChangesNothingInTheModel) {
  const TemporaryFolder folder;
  Model saved = classifier(), other = classifier();
  for (Model* model : {&saved, &other}) {
    model->train_on_batch(noise({8, 4}, 1), labels(8, 3));
    if (model == &saved) {
      model->save_weights(folder / "w.h5");
      model->save_weights(folder / "w.weights.h5");
    }
    model->train_on_batch(noise({8, 4}, 2), labels(8, 3));
  }
  expect_same_training(saved, other);
  EXPECT_TRUE(saved.is_compiled());
}

TEST(SavingWeights, EveryEndingComesBackWithTheSameBits) {
  const TemporaryFolder folder;
  Model model = classifier();
  model.train_on_batch(noise({8, 4}, 1), labels(8, 3));
  for (const char* name : {"w.weights.h5", "w.h5", "w.hdf5"}) {
    model.save_weights(folder / name);
    Model other = classifier();
    other.load_weights(folder / name);
    expect_same_bits(other.get_weights(), model.get_weights());
  }
}

TEST(SavingWeights, OtherEndingsAreRefused) {
  const TemporaryFolder folder;
  Model model = classifier();
  expect_error(ErrorCode::kInvalidArgument, ".weights.h5",
               [&] { model.save_weights(folder / "w.keras"); });
  expect_error(ErrorCode::kInvalidArgument, ".keras", [&] { model.save(folder / "m.h5"); });
  EXPECT_TRUE(std::filesystem::is_empty(folder.path()));
}

/// A generator and a discriminator, alone and as one model.
struct Gan {
  Gan() : generator(part("generator", 2, 4)), discriminator(part("discriminator", 4, 1)) {
    const Tensor z = Input({2}, {.name = "z"});
    const LayerHandle g(generator.network()), d(discriminator.network());
    whole.emplace(z, d(g(z)), "gan");
  }
  static Model part(const std::string& name, int64_t in, int64_t out) {
    const Tensor x = Input({in}, {.name = name + "_in"});
    const Tensor h = BatchNormalization({.name = name + "_bn"})(
        Dense({.units = 4, .name = name + "_hidden"})(x));
    return {x, Dense({.units = out, .activation = "tanh", .name = name + "_out"})(h), name};
  }
  Model generator, discriminator;
  std::optional<Model> whole;
};

// The old recipe for several devices: train a model around the generator, save the inner weights,
// load them into the generator.
TEST(ModelsInModels, InnerWeightsGoOutAndIn) {
  const TemporaryFolder folder;
  Gan trained;
  trained.whole->compile({.optimizer = Adam(), .loss = "mse"});
  trained.whole->train_on_batch(noise({8, 2}, 1), noise({8, 1}, 2));
  const std::vector<HostTensor> whole = trained.whole->get_weights();
  Gan other;
  const std::vector<HostTensor> before = other.whole->get_weights();
  for (const char* name : {"g.h5", "g.weights.h5"}) {
    trained.whole->get_model("generator").save_weights(folder / name);
    other.generator.load_weights(folder / name);
    expect_same_bits(other.generator.get_weights(),
                     trained.whole->get_model("generator").get_weights());
    // The model around it has them too, and keeps its own discriminator.
    std::vector<HostTensor> want(whole.begin(), whole.begin() + 8);
    want.insert(want.end(), before.begin() + 8, before.end());
    expect_same_bits(other.whole->get_weights(), want);
  }
}

TEST(ModelsInModels, AFrozenPartKeepsItsWeightsThroughAFile) {
  const TemporaryFolder folder;
  Gan gan;
  const std::vector<HostTensor> want = gan.whole->get_weights();
  gan.discriminator.network()->set_trainable(false);
  gan.whole->save_weights(folder / "frozen.h5");
  Gan unfrozen;
  unfrozen.whole->load_weights(folder / "frozen.h5");
  expect_same_bits(unfrozen.whole->get_weights(), want);
  unfrozen.whole->save_weights(folder / "unfrozen.h5");
  Gan frozen;
  frozen.discriminator.network()->set_trainable(false);
  frozen.whole->load_weights(folder / "unfrozen.h5");
  expect_same_bits(frozen.whole->get_weights(), want);
}

TEST(ModelsInModels, OtherLayersAreNoModels) {
  Gan gan;
  expect_error(ErrorCode::kNotFound, "generator", [&] { gan.whole->get_model("generatr"); });
  expect_error(ErrorCode::kInvalidArgument, "generator_bn",
               [&] { gan.generator.get_model("generator_bn"); });
}

}  // namespace
}  // namespace lockstep
