// Weights of a file into a network that is there: all of them or none.
#include "lockstep/formats/hdf5.h"
#include "tests/io/io_test_util.h"

namespace lockstep {
namespace {

class LoadWeights : public KerasFileTest {
 protected:
  Bytes weights() const { return ZipReader(written(), "m").read("model.weights.h5"); }
  /// The error of loading holds every part, and the network is as before.
  void expect_refused(const std::filesystem::path& path, Network& network, ErrorCode code,
                      std::initializer_list<const char*> parts) {
    const std::vector<HostTensor> before = weights_of(network);
    for (const char* part : parts) expect_error(code, part, [&] { load_weights(path, network); });
    EXPECT_TRUE(same_bits(weights_of(network), before));
  }
  /// make_network() with other values.
  static NetworkPtr zeros() {
    NetworkPtr network = make_network();
    for (const VariablePtr& variable : network->all_variables())
      variable->value = HostTensor(DType::kF32, variable->shape);
    return network;
  }
};

TEST_F(LoadWeights, FromAKerasFile) {
  const NetworkPtr network = zeros();
  load_weights(file_of(written()), *network);
  EXPECT_TRUE(same_bits(weights_of(*network), weights_of(*network_)));
}

TEST_F(LoadWeights, FromAWeightsFile) {
  const NetworkPtr network = zeros();
  load_weights(file_of(weights(), "m.weights.h5"), *network);
  EXPECT_TRUE(same_bits(weights_of(*network), weights_of(*network_)));
}

TEST_F(LoadWeights, IntoANetworkWithoutValues) {
  const NetworkPtr network = network_from_config(network_to_config(*network_));
  load_weights(file_of(written()), *network);
  EXPECT_TRUE(same_bits(weights_of(*network), weights_of(*network_)));
}

TEST_F(LoadWeights, AnotherShapeNamesLayerVariableAndBothShapes) {
  const NetworkPtr wider = make_network(/*hidden=*/5);
  expect_refused(file_of(written()), *wider, ErrorCode::kInvalidArgument,
                 {"m.keras", "hidden", "kernel", "[4,4]", "[4,5]"});
  expect_refused(file_of(weights(), "m.weights.h5"), *wider, ErrorCode::kInvalidArgument,
                 {"m.weights.h5", "hidden", "kernel", "[4,4]", "[4,5]"});
}

/// Weights files of a chain of Dense layers of one unit, of these widths.
Bytes chain_weights(std::initializer_list<std::initializer_list<Shape>> layers) {
  Hdf5Writer h5;
  int index = 0;
  for (const auto& shapes : layers) {
    const std::string name = index == 0 ? "dense" : fmt::format("dense_{}", index);
    int variable = 0;
    for (const Shape& shape : shapes)
      h5.add_dataset(fmt::format("layers/{}/vars/{}", name, variable++), numbered(shape, 1));
    ++index;
  }
  return h5.finish();
}

NetworkPtr chain() {
  NetworkPtr network = Network::sequential(
      {Dense({.units = 2, .name = "first"}), Dense({.units = 1, .name = "last"})},
      TensorSpec{{-1, 3}});
  network->initialize(0);
  return network;
}

TEST_F(LoadWeights, AMissingLayerIsNamed) {
  expect_refused(file_of(chain_weights({{{3, 2}, {2}}}), "m.weights.h5"), *chain(),
                 ErrorCode::kInvalidArgument, {"last", "kernel", "layers/dense_1/vars/0"});
}

TEST_F(LoadWeights, AMissingVariableIsNamed) {
  expect_refused(file_of(chain_weights({{{3, 2}, {2}}, {{2, 1}}}), "m.weights.h5"), *chain(),
                 ErrorCode::kInvalidArgument, {"last", "bias", "layers/dense_1/vars/1"});
}

TEST_F(LoadWeights, AVariableTooManyIsNamed) {
  expect_refused(file_of(chain_weights({{{3, 2}, {2}}, {{2, 1}, {1}, {1}}}), "m.weights.h5"),
                 *chain(), ErrorCode::kInvalidArgument, {"last", "layers/dense_1/vars/2"});
}

TEST_F(LoadWeights, ALayerTooManyIsNamed) {
  expect_refused(
      file_of(chain_weights({{{3, 2}, {2}}, {{2, 1}, {1}}, {{1, 1}, {1}}}), "m.weights.h5"),
      *chain(), ErrorCode::kInvalidArgument, {"layers/dense_2"});
}

TEST_F(LoadWeights, EqualSizesOfOtherShapesAreRefused) {
  expect_refused(file_of(chain_weights({{{2, 3}, {2}}, {{2, 1}, {1}}}), "m.weights.h5"), *chain(),
                 ErrorCode::kInvalidArgument, {"first", "kernel", "[3,2]", "[2,3]"});
  expect_refused(file_of(chain_weights({{{3, 2}, {2}}, {{2}, {1}}}), "m.weights.h5"), *chain(),
                 ErrorCode::kInvalidArgument, {"last", "kernel", "[2,1]", "[2]"});
}

TEST_F(LoadWeights, DamagedFilesChangeNothing) {
  const Bytes whole = weights();
  const NetworkPtr network = zeros();
  for (size_t size = 0; size < whole.size(); size += 1 + whole.size() / 9)
    expect_refused(file_of(whole.substr(0, size), "m.weights.h5"), *network, ErrorCode::kDataLoss,
                   {"m.weights.h5"});
  expect_refused(file_of(written().substr(0, 4000)), *network, ErrorCode::kDataLoss, {"m.keras"});
}

TEST_F(LoadWeights, AMissingMemberIsDataLossAsWhenTheModelIsRead) {
  expect_refused(file_of(with_member(written(), "model.weights.h5", std::nullopt)), *network_,
                 ErrorCode::kDataLoss, {"m.keras", "model.weights.h5"});
}

TEST_F(LoadWeights, WiderAndNarrowerNumbersBecomeTheVariables) {
  Hdf5Writer h5;
  h5.add_dataset("layers/dense/vars/0", numbered({3, 2}, 1).as(DType::kF64));
  h5.add_dataset("layers/dense/vars/1", numbered({2}, 2).as(DType::kF64));
  h5.add_dataset("layers/dense_1/vars/0", numbered({2, 1}, 3).as(DType::kF64));
  h5.add_dataset("layers/dense_1/vars/1", numbered({1}, 4).as(DType::kF64));
  const NetworkPtr network = chain();
  load_weights(file_of(h5.finish(), "m.weights.h5"), *network);
  EXPECT_TRUE(weights_of(*network)[0].same_bits(numbered({3, 2}, 1)));
}

// A discriminator that was compiled by itself leaves its optimizer's state inside the whole model's
// weights.
TEST_F(LoadWeights, TheOptimizerOfAnInnerModelIsLeft) {
  Hdf5Writer h5;
  h5.add_dataset("layers/dense/vars/0", numbered({3, 2}, 1));
  h5.add_dataset("layers/dense/vars/1", numbered({2}, 2));
  h5.add_dataset("layers/sequential/layers/dense/vars/0", numbered({2, 1}, 3));
  h5.add_dataset("layers/sequential/layers/dense/vars/1", numbered({1}, 4));
  h5.add_dataset("layers/sequential/optimizer/vars/0", HostTensor::scalar<int64_t>(7));
  const NetworkPtr inner = Network::sequential({Dense({.units = 1})}, TensorSpec{{-1, 2}}, "inner");
  const NetworkPtr network = Network::sequential({Dense({.units = 2}), inner}, TensorSpec{{-1, 3}});
  network->initialize(0);
  load_weights(file_of(h5.finish(), "m.weights.h5"), *network);
  EXPECT_TRUE(weights_of(*network)[3].same_bits(numbered({1}, 4)));
}

TEST_F(LoadWeights, MissingFilesAreNotFound) {
  expect_refused(folder_ / "none.weights.h5", *network_, ErrorCode::kNotFound, {"none.weights.h5"});
}

}  // namespace
}  // namespace lockstep
