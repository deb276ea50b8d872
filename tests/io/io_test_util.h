// What the tests of model files share.
#pragma once

#include <algorithm>
#include <fstream>

#include "lockstep/formats/zip.h"
#include "lockstep/io/keras_file.h"
#include "lockstep/nn/layers/dense.h"
#include "lockstep/nn/layers/merging.h"
#include "lockstep/nn/layers/normalization.h"
#include "tests/formats/format_test_util.h"

namespace lockstep {

inline HostTensor numbered(const Shape& shape, float start) {
  HostTensor tensor(DType::kF32, shape);
  for (float& value : tensor.data<float>()) value = start += 0.125f;
  return tensor;
}

/// A layer and a nested model used twice each, batch normalization, a constraint, a penalty. No two
/// weights are alike.
inline NetworkPtr make_network(int64_t hidden = 4) {
  const Tensor inner_in = Input({4}, {.name = "inner_in"});
  const Tensor h = Dense(
      {.units = hidden, .activation = "relu", .kernel_constraint = "max_norm", .name = "hidden"})(
      inner_in);
  const LayerHandle inner(Network::functional({inner_in}, {BatchNormalization()(h)}, "inner"));
  const Tensor a = Input({3}, {.name = "a"}), b = Input({3}, {.name = "b"});
  const LayerHandle shared = Dense({.units = 4, .kernel_regularizer = "l2", .name = "shared"});
  const Tensor joined = Concatenate()({inner(shared(a)), inner(shared(b))});
  const Tensor out = Dense({.units = 2, .activation = "softmax", .name = "out"})(joined);
  NetworkPtr network = Network::functional({a, b}, {out}, "net");
  float start = 0;
  for (const VariablePtr& variable : network->all_variables())
    variable->value = numbered(variable->shape, start += 10);
  return network;
}

inline std::vector<HostTensor> weights_of(const Network& network) {
  std::vector<HostTensor> weights;
  for (const VariablePtr& variable : network.all_variables()) weights.push_back(variable->value);
  return weights;
}

inline bool same_bits(const std::vector<HostTensor>& a, const std::vector<HostTensor>& b) {
  return std::equal(a.begin(), a.end(), b.begin(), b.end(),
                    [](const HostTensor& x, const HostTensor& y) { return x.same_bits(y); });
}

/// The archive `bytes` with one member replaced, or left out where `content` is none.
inline Bytes with_member(const Bytes& bytes, const std::string& name,
                         const std::optional<Bytes>& content) {
  const ZipReader reader(bytes, "archive");
  ZipWriter writer;
  for (const ZipMember& member : reader.members()) {
    if (member.name != name) writer.add(member.name, reader.read(member.name));
    if (member.name == name && content) writer.add(name, *content);
  }
  return writer.finish();
}

inline const Json& compile_config() {
  static const Json config = Json::parse(
      R"({"optimizer": {"module": "keras.optimizers", "class_name": "Adam",
          "config": {"name": "adam", "learning_rate": 0.125}, "registered_name": null},
          "loss": "mse", "loss_weights": null, "metrics": ["mae"], "weighted_metrics": null,
          "run_eagerly": false, "steps_per_execution": 1, "jit_compile": false})");
  return config;
}

inline OptimizerState optimizer_state() {
  OptimizerState state;
  state.iterations = int64_t{1} << 40;
  state.learning_rate = 0.125f;
  state.variables.push_back({"shared_kernel_momentum", numbered({3, 4}, -7)});
  state.variables.push_back({"shared_kernel_velocity", numbered({3, 4}, 99)});
  state.variables.push_back({"a_scalar", HostTensor::scalar<float>(3)});
  return state;
}

inline void expect_same_state(const OptimizerState& got, const OptimizerState& want) {
  EXPECT_EQ(got.iterations, want.iterations);
  EXPECT_EQ(got.learning_rate, want.learning_rate);
  ASSERT_EQ(got.variables.size(), want.variables.size());
  for (size_t i = 0; i < want.variables.size(); ++i)
    EXPECT_TRUE(got.variables[i].value.same_bits(want.variables[i].value)) << i;
}

/// Files in a folder of the test's own.
class KerasFileTest : public testing::Test {
 protected:
  /// A file of this content, called m.keras.
  std::filesystem::path file_of(const Bytes& bytes, const char* name = "m.keras") const {
    std::filesystem::remove(folder_ / name);  // truncating would wait for the disk
    std::ofstream(folder_ / name, std::ios::binary) << bytes;
    return folder_ / name;
  }
  /// The bytes of the file of make_network().
  Bytes written() const {
    write_keras_file(folder_ / "written.keras", *network_, &compile_config(), &state_);
    return read_file(folder_ / "written.keras");
  }
  TemporaryFolder folder_;
  NetworkPtr network_ = make_network();
  OptimizerState state_ = optimizer_state();
};

/// A file of tests/io/data.
inline std::filesystem::path data(const std::string& name) {
  return std::filesystem::path(LOCKSTEP_SOURCE_DIR) / "tests/io/data" / name;
}

/// The values that Keras holds, exactly.
inline void expect_recorded(const std::vector<HostTensor>& got, const Json& want,
                            size_t first = 0) {
  ASSERT_EQ(got.size(), want.size() - first);
  for (size_t i = 0; i < got.size(); ++i) {
    const HostTensor values = got[i].as(DType::kF64);
    const Json list =
        std::vector<double>(values.data<double>().begin(), values.data<double>().end());
    EXPECT_EQ(list, want[first + i][1]) << want[first + i][0];
  }
}

}  // namespace lockstep
