// Every layer and activation computes what Keras 3.15.1 computes: data/layers.json, recorded by
// data/record_layers.py.
#include <set>

#include "layer_test_util.h"
#include "lockstep/nn/activation.h"
#include "lockstep/nn/registry.h"

namespace lockstep {
namespace {

const Json& recorded() {
  static const Json json = read_json_file("layers.json");
  return json;
}

Shape row_shape(const Json& json) { return Shape(json.get<Dims>()); }

void set_values(const Layer& layer) {
  int position = 0;
  for (const VariablePtr& variable : layer.variables()) {
    variable->value = sequence(variable->shape, position++);
    if (variable->name.find("variance") == std::string::npos) continue;
    for (float& value : variable->value.data<float>()) value = std::abs(value) + 0.5f;
  }
}

class RecordedLayer : public testing::TestWithParam<size_t> {
 protected:
  const Json& record() const { return recorded()["layers"][GetParam()]; }
};

TEST_P(RecordedLayer, ComputesWhatKerasComputes) {
  const LayerPtr layer = layer_from_config(record()["layer"]);
  std::vector<Tensor> inputs;
  std::vector<HostTensor> values;
  for (const Json& shape : record()["inputs"]) {
    values.push_back(sequence(row_shape(shape).with_rows(2), static_cast<int>(inputs.size())));
    inputs.push_back(Input(row_shape(shape)));
  }
  const Tensor output = call_layer(layer, inputs, inputs.size() > 1)[0];
  EXPECT_EQ(output.spec.shape.without_rows(), row_shape(record()["shape"]).without_rows());

  Json variables = Json::array();
  for (const VariablePtr& variable : layer->variables())
    variables.push_back({variable->name, variable->shape.dims()});
  EXPECT_EQ(variables, record()["variables"]);

  set_values(*layer);
  const HostTensor result = run_inference(*layer, values)[0];
  EXPECT_EQ(result.shape(), row_shape(record()["shape"]));
  expect_close(result, record()["values"].get<std::vector<double>>(), 1e-6);
}

TEST_P(RecordedLayer, WritesWhatKerasWrites) {
  const LayerPtr layer = layer_from_config(record()["layer"]);
  EXPECT_TRUE(same_json(layer_to_config(*layer), record()["layer"]))
      << layer_to_config(*layer).dump() << "\n"
      << record()["layer"].dump();
}

std::string recorded_name(const testing::TestParamInfo<size_t>& info) {
  const Json& layer = recorded()["layers"][info.param]["layer"];
  return fmt::format("{}_{}", info.param, layer["class_name"].get<std::string>());
}
INSTANTIATE_TEST_SUITE_P(Keras, RecordedLayer,
                         testing::Range(size_t{0}, recorded()["layers"].size()), recorded_name);

TEST(Layers, EveryClassIsRecorded) {
  std::set<std::string> classes{"InputLayer"};
  for (const Json& record : recorded()["layers"])
    classes.insert(record["layer"]["class_name"].get<std::string>());
  for (const LayerClass& row : layer_classes())
    EXPECT_TRUE(classes.contains(std::string(row.class_name))) << row.class_name;
}

class RecordedActivation : public testing::TestWithParam<size_t> {};

TEST_P(RecordedActivation, ComputesWhatKerasComputes) {
  const Json& record = recorded()["activations"][GetParam()];
  const auto inputs = recorded()["activation_inputs"].get<std::vector<float>>();
  TestGraph graph;
  const Value x = graph.input(HostTensor::from<float>(
      {1, static_cast<int64_t>(inputs.size())}, std::span<const float>(inputs)));
  const Value y = activation(graph.builder, record["name"].get<std::string>(), x);
  expect_close(graph.evaluate(y), record["values"].get<std::vector<double>>(), 2e-6);
}

INSTANTIATE_TEST_SUITE_P(Keras, RecordedActivation,
                         testing::Range(size_t{0}, recorded()["activations"].size()),
                         [](const testing::TestParamInfo<size_t>& info) {
                           return recorded()["activations"][info.param]["name"].get<std::string>();
                         });

TEST(Activations, EveryNameIsRecorded) {
  std::set<std::string> names;
  for (const Json& record : recorded()["activations"]) names.insert(record["name"]);
  for (const std::string& name : activation_names()) EXPECT_TRUE(names.contains(name)) << name;
}

TEST(Activations, AreKnownToLossesByTheirOps) {
  TestGraph graph;
  const Value x = graph.f32({1, 2}, {0.0f, 1.0f});
  const auto opcode = [&](std::string_view name) {
    return graph.graph.producer(activation(graph.builder, name, x).id).opcode;
  };
  EXPECT_EQ(opcode("softmax"), Opcode::kSoftmax);
  EXPECT_EQ(opcode("sigmoid"), Opcode::kLogistic);
  EXPECT_EQ(opcode("relu"), Opcode::kRelu);
  EXPECT_EQ(opcode("elu"), Opcode::kElu);
  EXPECT_EQ(opcode("selu"), Opcode::kElu);
}

TEST(Activations, UnknownNameIsRefused) {
  TestGraph graph;
  const Value x = graph.f32({1}, {0.0f});
  expect_error(ErrorCode::kUnsupported, "unsupported activation \"rellu\". Did you mean \"relu\"?",
               [&] { activation(graph.builder, "rellu", x); });
  EXPECT_TRUE(is_known_activation("swish"));
  EXPECT_FALSE(is_known_activation("rellu"));
}

TEST(Activations, GluNeedsAnEvenAxis) {
  TestGraph graph;
  const Value x = graph.f32({1, 3}, {0.0f, 1.0f, 2.0f});
  expect_error(ErrorCode::kInvalidArgument, "[glu] the last axis must be even",
               [&] { activation(graph.builder, "glu", x); });
}

}  // namespace
}  // namespace lockstep
