// Files that Keras 3.15.1 itself wrote: data/record_keras_file.py made them.
#include <functional>

#include "lockstep/formats/hdf5.h"
#include "lockstep/formats/json.h"
#include "tests/io/io_test_util.h"

namespace lockstep {
namespace {

const Json& recorded() {
  static const Json json = parse_json(read_file(data("trained.json")), "trained.json");
  return json;
}

TEST(RecordedKerasFile, HoldsKerassWeights) {
  expect_recorded(weights_of(*read_keras_file(data("trained.keras")).network),
                  recorded()["weights"]);
}

TEST(RecordedKerasFile, HoldsKerassOptimizer) {
  const KerasFile file = read_keras_file(data("trained.keras"));
  ASSERT_TRUE(file.optimizer);
  EXPECT_EQ(file.optimizer->iterations, 4);
  EXPECT_EQ(file.optimizer->learning_rate, 0.001f);
  std::vector<HostTensor> slots;
  for (const OptimizerVariable& variable : file.optimizer->variables)
    slots.push_back(variable.value);
  expect_recorded(slots, recorded()["optimizer"], /*first=*/2);
  ASSERT_TRUE(file.compile_config);
  EXPECT_EQ((*file.compile_config)["loss"], "sparse_categorical_crossentropy");
}

TEST(RecordedKerasFile, ItsWeightsFileIsRead) {
  const NetworkPtr network = make_network();  // the same model
  load_weights(data("trained.weights.h5"), *network);
  expect_recorded(weights_of(*network), recorded()["weights"]);
}

/// Without what Keras writes that says nothing: identities of Python objects, and an empty
/// compile_config.
nlohmann::json said(nlohmann::json json) {
  if (json.is_object()) {
    json.erase("shared_object_id");
    if (json.value("compile_config", nlohmann::json(1)).empty()) json.erase("compile_config");
  }
  if (json.is_structured())
    for (auto& item : json) item = said(std::move(item));
  return json;
}

TEST(RecordedKerasFile, IsWrittenBackWithTheSameConfigurationAndDatasets) {
  const TemporaryFolder folder;
  const KerasFile file = read_keras_file(data("trained.keras"));
  write_keras_file(folder / "m.keras", *file.network, &*file.compile_config, &*file.optimizer);
  const ZipReader ours(read_file(folder / "m.keras"), "ours"),
      keras(read_file(data("trained.keras")), "keras");
  EXPECT_EQ(said(nlohmann::json::parse(ours.read("config.json"))),
            said(nlohmann::json::parse(keras.read("config.json"))));
  const Hdf5Reader our_weights(ours.read("model.weights.h5"), "ours"),
      keras_weights(keras.read("model.weights.h5"), "keras");
  // Every group and dataset that Keras wrote, and no other.
  const std::function<void(const std::string&)> compare = [&](const std::string& path) {
    if (keras_weights.has_dataset(path)) {
      ASSERT_TRUE(our_weights.has_dataset(path)) << path;
      // The number of iterations is int32 under JAX, int64 under TensorFlow, and with us.
      const HostTensor ours_here = our_weights.read(path);
      EXPECT_TRUE(ours_here.same_bits(keras_weights.read(path).as(ours_here.dtype()))) << path;
      return;
    }
    ASSERT_EQ(our_weights.list(path), keras_weights.list(path)) << path;
    EXPECT_EQ(our_weights.text_attribute(path, "name"), keras_weights.text_attribute(path, "name"))
        << path;
    for (const std::string& name : keras_weights.list(path))
      compare(path.empty() ? name : path + "/" + name);
  };
  compare("");
}

}  // namespace
}  // namespace lockstep
