// .h5 files that Keras 3.15.1 itself wrote in the layout of Keras 2, and files that nobody should:
// data/record_legacy_files.py made them.
#include "lockstep/formats/json.h"
#include "lockstep/io/legacy_model.h"
#include "tests/io/legacy_test_util.h"

namespace lockstep {
namespace {

std::filesystem::path legacy(const std::string& name) {
  return data("legacy/" + name);
}

const Json& recorded() {
  static const Json json = parse_json(read_file(legacy("gan.json")), "gan.json");
  return json;
}

TEST(RecordedLegacyFile, AWholeModelHasKerassWeightsAndOptimizer) {
  const KerasFile file = read_model_file(legacy("gan.h5"));
  EXPECT_TRUE(file.remarks.empty()) << file.remarks.front();
  expect_recorded(weights_of(*file.network), recorded()["weights"]);
  EXPECT_EQ(file.network->name(), "gan");
  EXPECT_FALSE(file.network->get_layer("discriminator")->trainable());
  ASSERT_TRUE(file.compile_config);
  EXPECT_EQ((*file.compile_config)["loss"], "binary_crossentropy");
  ASSERT_TRUE(file.optimizer);
  EXPECT_EQ(file.optimizer->iterations, 2);
  EXPECT_EQ(file.optimizer->learning_rate, 0.125f);
  std::vector<HostTensor> slots;
  for (const OptimizerVariable& variable : file.optimizer->variables)
    slots.push_back(variable.value);
  expect_recorded(slots, recorded()["optimizer"], /*first=*/2);
}

// keras#6607 and others: frozen or not when saved, frozen or not when loaded.
TEST(RecordedLegacyFile, FrozenOrNotTheWeightsAreTheSame) {
  const NetworkPtr network = read_model_file(legacy("gan.h5")).network;
  for (const bool is_trainable : {false, true})
    for (const char* name : {"frozen.h5", "unfrozen.h5", "gan.h5", "gan.weights.h5"}) {
      network->get_layer("discriminator")->set_trainable(is_trainable);
      clear_weights(*network);
      load_weights(legacy(name), *network);
      expect_recorded(weights_of(*network), recorded()["weights"]);
    }
}

/// What Keras lists for each layer.
std::vector<std::string> names_of(const Bytes& bytes) {
  const Hdf5Reader h5(bytes, "w");
  const std::vector<std::string> layers = *h5.text_list_attribute("", "layer_names");
  std::vector<std::string> names = layers;
  for (const std::string& layer : layers) {
    const std::vector<std::string> weights = *h5.text_list_attribute(layer, "weight_names");
    for (const std::string& name : weights) names.push_back(layer + " " + name);
  }
  return names;
}

/// The last two parts: Keras leaves the nested model's name away, or not, as it was built.
std::string tail(const std::string& name) {
  const size_t last = name.rfind('/');
  const size_t before = last == std::string::npos ? last : name.find_last_of("/ ", last - 1);
  return before == std::string::npos ? name : name.substr(before + 1);
}

TEST(RecordedLegacyFile, IsWrittenInKerassOrder) {
  const NetworkPtr network = read_model_file(legacy("gan.h5")).network;
  for (const bool is_trainable : {false, true}) {
    network->get_layer("discriminator")->set_trainable(is_trainable);
    const std::vector<std::string> ours = names_of(legacy_bytes_of(network)),
                                   keras = names_of(read_file(
                                       legacy(is_trainable ? "unfrozen.h5" : "frozen.h5")));
    ASSERT_EQ(ours.size(), keras.size());
    for (size_t i = 0; i < ours.size(); ++i) EXPECT_EQ(tail(ours[i]), tail(keras[i]));
  }
}

NetworkPtr one_dense() {
  NetworkPtr network =
      Network::sequential({Dense({.units = 2, .name = "out"})}, TensorSpec{{-1, 2}});
  network->initialize(0);
  return network;
}

void expect_refused(const char* name, ErrorCode code, const char* part) {
  const NetworkPtr network = one_dense();
  const std::vector<HostTensor> before = weights_of(*network);
  expect_error(code, part, [&] { load_weights(legacy(name), *network); });
  expect_error(code, name, [&] { load_weights(legacy(name), *network); });
  EXPECT_TRUE(same_bits(weights_of(*network), before));
}

TEST(HostileLegacyFile, SizesAreBoundedBeforeMemoryIsTaken) {
  expect_refused("hostile_huge.h5", ErrorCode::kDataLoss, "claims the shape [32768,32768]");
  expect_refused("hostile_many.h5", ErrorCode::kInvalidArgument, "holds 64");
}

TEST(HostileLegacyFile, AttributesOfAnotherTypeAreRefused) {
  expect_refused("hostile_numbers.h5", ErrorCode::kDataLoss, "weight_names");
  expect_refused("hostile_texts.h5", ErrorCode::kUnsupported, "out/bias:0");
}

TEST(HostileLegacyFile, NoOtherFileIsOpened) {
  expect_refused("hostile_soft.h5", ErrorCode::kUnsupported, "links");
  expect_refused("hostile_external.h5", ErrorCode::kUnsupported, "links");
}

TEST(HostileLegacyFile, CyclesEndWhereTheNamesDo) {
  const NetworkPtr network = one_dense();
  load_weights(legacy("hostile_cycle.h5"), *network);
  EXPECT_EQ(network->all_variables()[0]->value.data<float>()[0], -1.0f);
}

}  // namespace
}  // namespace lockstep
