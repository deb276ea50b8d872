// Networks as Keras 3 writes them.
#include <algorithm>

#include "lockstep/nn/layer_fields.h"
#include "lockstep/nn/network.h"
#include "lockstep/nn/registry.h"

namespace lockstep {
namespace {

Json shape_json(const Shape& shape) {
  Json json = Json::array();
  for (int64_t extent : shape) json.push_back(extent < 0 ? Json() : Json(extent));
  return json;
}

/// [layer, node, tensor].
Json reference(const Network& network, const Tensor& tensor) {
  return {tensor.producer->layer->name(), network.node_index(*tensor.producer), tensor.index};
}

Json keras_tensor(const Network& network, const Tensor& tensor) {
  Json config;
  config["shape"] = shape_json(tensor.spec.shape);
  config["dtype"] = keras_name(tensor.spec.dtype);
  config["keras_history"] = reference(network, tensor);
  return {{"class_name", "__keras_tensor__"}, {"config", config}};
}

Json call_json(const Network& network, const LayerCall& call) {
  Json tensors = Json::array();
  for (const Tensor& input : call.inputs) tensors.push_back(keras_tensor(network, input));
  Json json;
  json["args"] = call.inputs_are_list ? Json::array({tensors}) : tensors;
  json["kwargs"] = call.kwargs;
  return json;
}

/// Calls of a layer in this network, in order of their node index.
Json inbound_nodes(const Network& network, const Layer& layer) {
  std::vector<const LayerCall*> calls;
  for (const auto& call : network.calls())
    if (call->layer.get() == &layer) calls.push_back(call.get());
  std::sort(calls.begin(), calls.end(), [&](const LayerCall* a, const LayerCall* b) {
    return network.node_index(*a) < network.node_index(*b);
  });
  Json nodes = Json::array();
  for (const LayerCall* call : calls) nodes.push_back(call_json(network, *call));
  return nodes;
}

/// As `reference`, but a Functional's calls are counted from one: Keras begins it with a call of
/// its own and takes that into account here, and only here.
Json model_tensor(const Network& network, const Tensor& tensor) {
  Json json = reference(network, tensor);
  const auto* inner = dynamic_cast<const Network*>(tensor.producer->layer.get());
  if (inner != nullptr && inner->kind() == Network::Kind::kFunctional)
    json[1] = json[1].get<int>() + 1;
  return json;
}

Json model_tensors(const Network& network, const std::vector<Tensor>& tensors,
                   const TensorStructure& structure) {
  if (structure.kind == TensorStructure::Kind::kSingle) return model_tensor(network, tensors.at(0));
  if (structure.kind == TensorStructure::Kind::kList) {
    Json list = Json::array();
    for (const Tensor& tensor : tensors) list.push_back(model_tensor(network, tensor));
    return list;
  }
  std::vector<std::string> sorted = structure.keys;
  std::sort(sorted.begin(), sorted.end());
  Json dict = Json::object();
  for (const std::string& key : structure.keys) {
    const auto position = std::lower_bound(sorted.begin(), sorted.end(), key) - sorted.begin();
    dict[key] = model_tensor(network, tensors.at(static_cast<size_t>(position)));
  }
  return dict;
}

Json functional_config(const Network& network) {
  Json layers = Json::array();
  for (const LayerPtr& layer : network.layers()) {
    Json json = layer_to_config(*layer);
    json["name"] = layer->name();
    json["inbound_nodes"] = inbound_nodes(network, *layer);
    layers.push_back(std::move(json));
  }
  Json config;
  config["name"] = network.name();
  config["trainable"] = network.trainable();
  config["layers"] = std::move(layers);
  config["input_layers"] = model_tensors(network, network.inputs(), network.input_structure());
  config["output_layers"] = model_tensors(network, network.outputs(), network.output_structure());
  return config;
}

Json sequential_config(const Network& network) {
  Json layers = Json::array();
  for (const LayerPtr& layer : network.saved_layers()) layers.push_back(layer_to_config(*layer));
  Json config;
  config["name"] = network.name();
  config["trainable"] = network.trainable();
  config["dtype"] = float32_policy();
  config["layers"] = std::move(layers);
  if (!network.inputs().empty())
    config["build_input_shape"] = shape_json(network.inputs()[0].spec.shape);
  return config;
}

}  // namespace

Json Network::config() const {
  return kind_ == Kind::kFunctional ? functional_config(*this) : sequential_config(*this);
}

Json network_to_config(const Network& network) {
  const bool is_functional = network.kind() == Network::Kind::kFunctional;
  Json json = keras_object_json(is_functional ? "keras.src.models.functional" : "keras",
                                network.class_name(), network.config());
  if (is_functional) {
    json["registered_name"] = "Functional";
    json["build_config"] = {{"input_shape", nullptr}};
  } else if (!network.inputs().empty()) {
    json["build_config"] = {{"input_shape", shape_json(network.inputs()[0].spec.shape)}};
  }
  return json;
}

}  // namespace lockstep
