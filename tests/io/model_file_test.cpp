// Any file that holds a model: which are read, and that code in them is never run.
#include "lockstep/formats/hdf5.h"
#include "lockstep/formats/json.h"
#include "tests/io/io_test_util.h"

namespace lockstep {
namespace {

/// A Sequential of these layers, as Keras's JSON.
std::string sequential(const std::string& layers) {
  return R"({"module": "keras", "class_name": "Sequential", "config": {"name": "s", "layers": [
    {"class_name": "InputLayer", "config": {"batch_shape": [null, 4], "dtype": "float32",
     "name": "in"}}, )" +
         layers + "]}}";
}

std::string layer(const std::string& class_name, const std::string& config) {
  return fmt::format(R"({{"module": "keras.layers", "class_name": "{}", "config": {}}})",
                     class_name, config);
}

const char* const kLambda =
    R"({"name": "evil", "function": {"class_name": "__lambda__", "config": {"code": "4wEAAAA="}}})";

class ModelFile : public KerasFileTest {
 protected:
  void expect_unsupported(const std::string& json, std::initializer_list<const char*> parts) {
    for (const char* part : parts) {
      expect_error(ErrorCode::kUnsupported, part,
                   [&] { read_model_file(file_of(json, "m.json")); });
      expect_error(ErrorCode::kUnsupported, part,
                   [&] { read_model_file(file_of(with_member(written(), "config.json", json))); });
    }
  }
};

TEST_F(ModelFile, AnArchitectureAloneIsRead) {
  Json json = network_to_config(*network_);
  json["compile_config"] = compile_config();
  const KerasFile file = read_model_file(file_of(dump_json(json), "m.json"));
  EXPECT_EQ(network_to_config(*file.network).dump(), network_to_config(*network_).dump());
  EXPECT_EQ(file.compile_config->dump(), compile_config().dump());
  EXPECT_FALSE(file.optimizer);
}

TEST_F(ModelFile, AKerasFileIsRead) {
  EXPECT_TRUE(
      same_bits(weights_of(*read_model_file(file_of(written())).network), weights_of(*network_)));
}

TEST_F(ModelFile, OtherEndingsAreRefused) {
  expect_error(ErrorCode::kInvalidArgument, "m.txt",
               [&] { read_model_file(file_of(written(), "m.txt")); });
  // Weights alone, under the name of a model.
  expect_error(ErrorCode::kInvalidArgument, "model_config", [&] {
    read_model_file(file_of(ZipReader(written(), "m").read("model.weights.h5"), "m.weights.h5"));
  });
  expect_error(ErrorCode::kDataLoss, "m.h5", [&] { read_model_file(file_of(written(), "m.h5")); });
}

TEST_F(ModelFile, DamagedJsonIsDataLoss) {
  expect_error(ErrorCode::kDataLoss, "m.json", [&] {
    read_model_file(file_of(dump_json(network_to_config(*network_)).substr(0, 500), "m.json"));
  });
}

TEST_F(ModelFile, ALambdaLayerIsRefusedByName) {
  expect_unsupported(sequential(layer("Lambda", kLambda)), {"Lambda", "evil", "m."});
}

TEST_F(ModelFile, ALambdaInANestedModelIsRefusedByName) {
  expect_unsupported(sequential(sequential(layer("Lambda", kLambda))), {"Lambda", "evil"});
}

TEST_F(ModelFile, ALambdaAsActivationIsRefused) {
  expect_unsupported(sequential(layer("Dense", R"({"name": "d", "units": 3, "activation":
        {"class_name": "__lambda__", "config": {"code": "4wEAAAA="}}})")),
                     {"ambda"});
}

TEST_F(ModelFile, ALambdaInTheCompileConfigurationIsRefused) {
  Json json = Json::parse(sequential(layer("Dense", R"({"name": "d", "units": 3})")));
  json["compile_config"] = {{"optimizer", "adam"},
                            {"loss", {{"class_name", "__lambda__"}, {"config", {{"code", "4w"}}}}}};
  expect_unsupported(json.dump(), {"ambda"});
}

TEST_F(ModelFile, UnknownLayersAreRefusedByName) {
  expect_unsupported(sequential(layer("LSTM", R"({"name": "memory", "units": 3})")),
                     {"LSTM", "m."});
  expect_unsupported(sequential(R"({"module": "my.code", "class_name": "Mine",
    "config": {"name": "x"}, "registered_name": "my>Mine"})"),
                     {"Mine"});
}

TEST_F(ModelFile, AnOptimizerOfAnInnerModelIsNotLostInSilence) {
  const Tensor inner_in = Input({2}), in = Input({2});
  const LayerHandle inner(Network::functional({inner_in}, {Add()({inner_in, inner_in})}, "inner"));
  write_keras_file(folder_ / "outer.keras", *Network::functional({in}, {inner(in)}), nullptr,
                   nullptr);
  Hdf5Writer h5;
  h5.add_dataset("layers/functional/optimizer/vars/0", HostTensor::scalar<int64_t>(3));
  expect_error(ErrorCode::kUnsupported, "inner", [&] {
    read_keras_file(
        file_of(with_member(read_file(folder_ / "outer.keras"), "model.weights.h5", h5.finish())));
  });
}

TEST_F(ModelFile, OptimizerVariablesThatAreNoNumbersAreDataLoss) {
  const NetworkPtr network =
      Network::sequential({Dense({.units = 1, .use_bias = false})}, TensorSpec{{-1, 1}});
  network->initialize(0);
  write_keras_file(folder_ / "small.keras", *network, nullptr, nullptr);
  const Bytes small = read_file(folder_ / "small.keras");
  for (const int wrong : {0, 1}) {
    Hdf5Writer h5;
    h5.add_dataset("layers/dense/vars/0", numbered({1, 1}, 0));
    h5.add_dataset("optimizer/vars/0", wrong == 0 ? numbered({2}, 0) : numbered({}, 0));
    h5.add_dataset("optimizer/vars/1", wrong == 1 ? numbered({2}, 0) : numbered({}, 0));
    expect_error(ErrorCode::kDataLoss, fmt::format("optimizer/vars/{}", wrong), [&] {
      read_keras_file(file_of(with_member(small, "model.weights.h5", h5.finish())));
    });
  }
}

}  // namespace
}  // namespace lockstep
