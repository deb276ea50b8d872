// The .keras file: what is written comes back bit for bit.
#include <limits>

#include "lockstep/formats/hdf5.h"
#include "tests/io/io_test_util.h"

namespace lockstep {
namespace {

TEST_F(KerasFileTest, EverythingComesBack) {
  const KerasFile file = read_keras_file(file_of(written()));
  EXPECT_TRUE(same_bits(weights_of(*file.network), weights_of(*network_)));
  EXPECT_EQ(network_to_config(*file.network).dump(), network_to_config(*network_).dump());
  ASSERT_TRUE(file.compile_config);
  EXPECT_EQ(file.compile_config->dump(), compile_config().dump());
  ASSERT_TRUE(file.optimizer);
  expect_same_state(*file.optimizer, state_);
}

TEST_F(KerasFileTest, BitsThatAreNoNumbersComeBackToo) {
  auto& values = network_->all_variables()[0]->value;
  values.data<float>()[0] = std::numeric_limits<float>::quiet_NaN();
  values.data<float>()[1] = -std::numeric_limits<float>::infinity();
  values.data<float>()[2] = -0.0f;
  values.data<float>()[3] = std::numeric_limits<float>::denorm_min();
  EXPECT_TRUE(
      same_bits(weights_of(*read_keras_file(file_of(written())).network), weights_of(*network_)));
}

TEST_F(KerasFileTest, WhatWasNotThereIsNotThere) {
  write_keras_file(folder_ / "m.keras", *network_, nullptr, nullptr);
  const KerasFile file = read_keras_file(folder_ / "m.keras");
  EXPECT_FALSE(file.compile_config);
  EXPECT_FALSE(file.optimizer);
}

TEST_F(KerasFileTest, UnderAScheduleThereIsNoLearningRate) {
  Json config = compile_config();
  config["optimizer"]["config"]["learning_rate"] = {
      {"class_name", "ExponentialDecay"},
      {"config", {{"initial_learning_rate", 0.5}, {"decay_steps", 10}, {"decay_rate", 0.5}}}};
  state_.learning_rate.reset();
  write_keras_file(folder_ / "m.keras", *network_, &config, &state_);
  expect_same_state(*read_keras_file(folder_ / "m.keras").optimizer, state_);
}

// What Keras writes after a model with a schedule was saved as .h5.
TEST_F(KerasFileTest, StateOfAnOptimizerThatIsNotNamedIsLeftAndSaid) {
  Json config = compile_config();
  config.erase("optimizer");
  write_keras_file(folder_ / "m.keras", *network_, &config, &state_);
  const KerasFile file = read_keras_file(folder_ / "m.keras");
  EXPECT_FALSE(file.optimizer);
  ASSERT_EQ(file.remarks.size(), 1u);
  EXPECT_NE(file.remarks[0].find("compile_config names no optimizer"), std::string::npos);
}

TEST_F(KerasFileTest, EqualContentGivesEqualBytes) {
  const Bytes once = written();
  EXPECT_EQ(written(), once);
  const KerasFile file = read_keras_file(file_of(once));
  write_keras_file(folder_ / "again.keras", *file.network, &*file.compile_config, &*file.optimizer);
  EXPECT_EQ(read_file(folder_ / "again.keras"), once);
}

TEST_F(KerasFileTest, MembersAreKerass) {
  const ZipReader reader(written(), "m");
  std::vector<std::string> names;
  for (const ZipMember& member : reader.members()) names.push_back(member.name);
  EXPECT_EQ(names, (std::vector<std::string>{"metadata.json", "config.json", "model.weights.h5"}));
}

TEST_F(KerasFileTest, ASharedLayersWeightsAreSavedOnce) {
  const Hdf5Reader h5(ZipReader(written(), "m").read("model.weights.h5"), "m");
  EXPECT_EQ(h5.list("layers"),
            (std::vector<std::string>{"concatenate", "dense", "dense_1", "functional",
                                      "input_layer", "input_layer_1"}));
  EXPECT_EQ(h5.list("layers/functional/layers"),
            (std::vector<std::string>{"batch_normalization", "dense", "input_layer"}));
}

}  // namespace
}  // namespace lockstep
