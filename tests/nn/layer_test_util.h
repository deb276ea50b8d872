// Layers and networks in tests: their graphs with the variables' values as inputs.
#pragma once

#include <fstream>
#include <map>
#include <span>

#include "graph_test_util.h"
#include "lockstep/nn/network.h"

namespace lockstep {

/// Remembers what layers ask for.
class TestContext final : public CallContext {
 public:
  TestContext(TestGraph& graph, bool training)
      : CallContext(graph.builder, training), graph_(graph) {}

  Value weight(const VariablePtr& variable) override {
    Value& value = weights_[variable.get()];
    if (!value.valid()) value = graph_.input(variable->value);
    return value;
  }
  Random random(std::optional<int64_t> seed) override {
    seeds.push_back(seed);
    sites.push_back(site);
    return {graph_.input(HostTensor::of<uint32_t>({2}, {1, 2})),
            graph_.input(HostTensor::scalar<uint32_t>(0)),
            graph_.input(HostTensor::scalar<uint32_t>(0))};
  }
  void add_activity_penalty(Value sum) override { penalties.push_back(sum); }
  void update_moving_average(const VariablePtr& moving, Value weighted, double momentum,
                             int64_t positions_per_row) override {
    updates.push_back({moving->path, weighted, momentum, positions_per_row});
  }
  bool force_synchronized_batchnorm() const override { return synchronized; }
  Value global_rows() override { return graph_.input(HostTensor::scalar<float>(global_row_count)); }

  struct Update {
    std::string path;
    Value weighted;
    double momentum;
    int64_t positions_per_row;
  };
  std::vector<std::optional<int64_t>> seeds;
  std::vector<uint32_t> sites;
  std::vector<Value> penalties;
  std::vector<Update> updates;
  bool synchronized = false;
  float global_row_count = 0;

 private:
  TestGraph& graph_;
  std::map<const Variable*, Value> weights_;
};

/// -1, -0.875, ... 1, as record_layers.py makes them.
inline HostTensor sequence(const Shape& shape, int start = 0) {
  HostTensor tensor(DType::kF32, shape);
  int64_t i = 0;
  for (float& value : tensor.data<float>())
    value = static_cast<float>((i++ * 5 + start * 3) % 17 - 8) / 8.0f;
  return tensor;
}

inline std::vector<HostTensor> run_inference(Layer& layer, const std::vector<HostTensor>& inputs) {
  TestGraph graph;
  TestContext context(graph, /*training=*/false);
  std::vector<Value> values;
  for (const HostTensor& input : inputs) values.push_back(graph.input(input));
  const std::vector<Value> results = layer.call(context, values);
  return graph.evaluate(results);
}

inline void expect_close(const HostTensor& got, std::span<const double> want, double tolerance) {
  ASSERT_EQ(got.size(), static_cast<int64_t>(want.size())) << got.type().str();
  const HostTensor values = got.as(DType::kF64);
  for (size_t i = 0; i < want.size(); ++i)
    EXPECT_NEAR(values.data<double>()[i], want[i], tolerance * (1 + std::abs(want[i])))
        << "element " << i;
}

inline Json read_json_file(const std::string& name) {
  const std::string path = std::string(LOCKSTEP_SOURCE_DIR) + "/tests/nn/data/" + name;
  std::ifstream file(path);
  if (!file) throw Error(ErrorCode::kNotFound, path, "the test's data must be there");
  return Json::parse(file);
}

/// Equality that ignores the order of keys.
inline bool same_json(const Json& a, const Json& b) {
  return nlohmann::json::parse(a.dump()) == nlohmann::json::parse(b.dump());
}

}  // namespace lockstep
