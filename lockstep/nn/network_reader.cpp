// Networks from Keras's JSON: functional ones by replaying their calls, Sequential ones as chains.
#include <algorithm>
#include <unordered_map>

#include "lockstep/nn/layer_fields.h"
#include "lockstep/nn/network.h"
#include "lockstep/nn/registry.h"

namespace lockstep {

/// What only reading may set.
class NetworkReader {
 public:
  static void set_structures(Network& network, TensorStructure inputs, TensorStructure outputs) {
    network.input_structure_ = std::move(inputs);
    network.output_structure_ = std::move(outputs);
  }
  /// The network's own flag, without its layers'.
  static void set_trainable(Network& network, bool trainable) { network.trainable_ = trainable; }
};

namespace {

// Networks in networks, lists and objects of one JSON value. Real models stay far below.
constexpr int kMaxNesting = 200;

void check_nesting(const Json& json) {
  std::vector<std::pair<const Json*, int>> stack{{&json, 0}};
  while (!stack.empty()) {
    const auto [value, depth] = stack.back();
    stack.pop_back();
    if (depth > kMaxNesting)
      invalid_argument("model", "the configuration must not be nested deeper than {} levels",
                       kMaxNesting);
    if (value->is_structured())
      for (const Json& child : *value) stack.emplace_back(&child, depth + 1);
  }
}

std::string string_field(const Json& json, const char* key, std::string_view where) {
  if (!json.contains(key) || !json[key].is_string())
    invalid_argument(where, "`{}` must be a string: {}", key,
                     json.contains(key) ? json[key].dump() : "nothing");
  return json[key].get<std::string>();
}

const Json& list_field(const Json& json, const char* key, std::string_view where) {
  if (!json.contains(key) || !json[key].is_array())
    invalid_argument(where, "`{}` must be a list", key);
  return json[key];
}

std::string optional_name(const Json& config) {
  return config.contains("name") && !config["name"].is_null()
             ? string_field(config, "name", "model")
             : "";
}

bool optional_flag(const Json& config, const char* key, bool otherwise, std::string_view where) {
  FieldReader field(config, where);
  field(key, otherwise);
  return otherwise;
}

/// Which result of which call of which layer.
struct TensorReference {
  std::string layer;
  int64_t node = 0, tensor = 0;
};

bool is_reference(const Json& json) {
  return json.is_array() && json.size() >= 3 && json[0].is_string() &&
         json[1].is_number_integer() && json[2].is_number_integer();
}

TensorReference read_reference(const Json& json, std::string_view where) {
  if (!is_reference(json))
    invalid_argument(where, "a tensor must be [layer, node, tensor]: {}", json.dump());
  return {json[0].get<std::string>(), json[1].get<int64_t>(), json[2].get<int64_t>()};
}

/// Keras 3: {"class_name": "__keras_tensor__", "config": {"keras_history": [layer, node, tensor]}}.
bool is_keras_tensor(const Json& json) {
  return json.is_object() && json.contains("class_name") &&
         json["class_name"] == "__keras_tensor__";
}

/// "mask": null, "mask": [null, null], "training": anything: Lockstep decides both by itself.
bool means_nothing(const std::string& key, const Json& value) {
  if (value.is_null() || key == "training") return true;
  const auto is_null = [](const Json& element) { return element.is_null(); };
  return value.is_array() && std::all_of(value.begin(), value.end(), is_null);
}

/// One call of a layer as saved.
struct SavedCall {
  std::vector<TensorReference> inputs;
  bool as_list = false;
  Json kwargs = Json::object();
};

struct SavedLayer {
  std::string name;
  LayerPtr layer;
  std::vector<SavedCall> calls;
  std::vector<std::vector<Tensor>> results;  // of the calls made so far
};

void check_kwargs(const Json& kwargs, std::string_view where) {
  if (!kwargs.is_object()) invalid_argument(where, "`kwargs` must be an object: {}", kwargs.dump());
  for (const auto& [key, value] : kwargs.items())
    if (!means_nothing(key, value))
      unsupported(where, "unsupported call argument `{}`: {}", key, value.dump());
}

/// Keras 3: {"args": [tensor or [tensors]], "kwargs": {...}}.
SavedCall read_call(const Json& json, std::string_view where) {
  SavedCall call;
  if (json.contains("kwargs")) call.kwargs = json["kwargs"];
  check_kwargs(call.kwargs, where);
  const Json& args = list_field(json, "args", where);
  if (args.size() != 1)
    unsupported(where, "unsupported call with {} arguments: one is known", args.size());
  call.as_list = args[0].is_array();
  for (const Json& tensor : call.as_list ? args[0] : args) {
    if (!is_keras_tensor(tensor))
      unsupported(where, "unsupported call argument, which is no tensor: {}", tensor.dump());
    const Json& config = tensor.contains("config") ? tensor["config"] : Json::object();
    if (!config.is_object() || !config.contains("keras_history"))
      invalid_argument(where, "a tensor must have a `keras_history`: {}", tensor.dump());
    call.inputs.push_back(read_reference(config["keras_history"], where));
  }
  return call;
}

/// Keras 2: [[layer, node, tensor, kwargs], ...].
SavedCall read_keras2_call(const Json& json, const Layer& layer, std::string_view where) {
  SavedCall call;
  for (const Json& tensor : json) {
    call.inputs.push_back(read_reference(tensor, where));
    if (tensor.size() > 3) check_kwargs(tensor[3], where);
  }
  call.as_list = layer.input_count() != 1;
  return call;
}

class FunctionalReader {
 public:
  explicit FunctionalReader(const Json& config)
      : config_(config), name_(optional_name(config)), where_(layer_label("Functional", name_)) {}

  NetworkPtr read() {
    for (const Json& layer : list_field(config_, "layers", where_)) read_layer(layer);
    connect();
    TensorStructure inputs, outputs;
    std::vector<Tensor> input_tensors = read_tensors("input_layers", inputs);
    std::vector<Tensor> output_tensors = read_tensors("output_layers", outputs);
    NetworkPtr network =
        Network::functional(std::move(input_tensors), std::move(output_tensors), name_);
    NetworkReader::set_structures(*network, std::move(inputs), std::move(outputs));
    NetworkReader::set_trainable(*network, optional_flag(config_, "trainable", true, where_));
    return network;
  }

 private:
  void read_layer(const Json& json) {
    SavedLayer saved;
    saved.layer = layer_from_config(json);
    saved.name = json.contains("name") ? string_field(json, "name", where_) : saved.layer->name();
    saved.layer->set_name(saved.name);
    const std::string label = saved.layer->label();
    if (json.contains("inbound_nodes")) {
      for (const Json& node : list_field(json, "inbound_nodes", label)) {
        is_keras2_ = is_keras2_ || node.is_array();
        saved.calls.push_back(node.is_array() ? read_keras2_call(node, *saved.layer, label)
                                              : read_call(node, label));
      }
    }
    if (auto input = std::dynamic_pointer_cast<InputLayer>(saved.layer))
      saved.results.push_back({input->tensor()});
    if (!indices_.emplace(saved.name, layers_.size()).second)
      invalid_argument(where_, "layers must have different names: two are called \"{}\"",
                       saved.name);
    layers_.push_back(std::move(saved));
  }

  /// Makes all calls, those of one layer strictly in order, each as soon as its inputs are there.
  void connect() {
    bool is_complete = false, has_progress = true;
    while (!is_complete && has_progress) {
      is_complete = true;
      has_progress = false;
      for (SavedLayer& saved : layers_) {
        has_progress = make_ready_calls(saved) || has_progress;
        is_complete = is_complete && calls_left(saved) == 0;
      }
    }
    for (const SavedLayer& saved : layers_)
      if (calls_left(saved) > 0)
        invalid_argument(where_,
                         "the graph must not have loops or missing tensors: a call of {} "
                         "never gets its inputs",
                         saved.layer->label());
  }

  static size_t calls_made(const SavedLayer& saved) {
    return saved.results.size() - (saved.layer->class_name() == "InputLayer" ? 1 : 0);
  }
  static size_t calls_left(const SavedLayer& saved) {
    return saved.calls.size() - calls_made(saved);
  }

  bool make_ready_calls(SavedLayer& saved) {
    bool has_progress = false;
    while (calls_left(saved) > 0) {
      const SavedCall& call = saved.calls[calls_made(saved)];
      std::vector<Tensor> inputs;
      for (const TensorReference& reference : call.inputs) {
        const Tensor* tensor = find(reference, /*counts_from_one=*/is_keras2_);
        if (tensor == nullptr) return has_progress;
        inputs.push_back(*tensor);
      }
      saved.results.push_back(call_layer(saved.layer, std::move(inputs), call.as_list));
      saved.results.back().at(0).producer->kwargs = call.kwargs;
      has_progress = true;
    }
    return has_progress;
  }

  /// Null while the call was not made yet. A network's own calls are counted from one in places,
  /// because in Keras it begins with a call of its own.
  const Tensor* find(const TensorReference& reference, bool counts_from_one) const {
    const auto it = indices_.find(reference.layer);
    if (it == indices_.end())
      invalid_argument(where_, "a tensor comes from an unknown layer: \"{}\"", reference.layer);
    const SavedLayer& saved = layers_[it->second];
    const int64_t node = reference.node - (counts_from_one ? 1 : 0) * is_network(saved);
    if (node < 0 || reference.tensor < 0)
      invalid_argument(where_, "there is no tensor [\"{}\", {}, {}]", reference.layer,
                       reference.node, reference.tensor);
    if (node >= static_cast<int64_t>(saved.results.size())) return nullptr;
    const std::vector<Tensor>& results = saved.results[static_cast<size_t>(node)];
    if (reference.tensor >= static_cast<int64_t>(results.size()))
      invalid_argument(where_, "{} has {} results: number {} is asked for", saved.layer->label(),
                       results.size(), reference.tensor);
    return &results[static_cast<size_t>(reference.tensor)];
  }

  /// Sequential is one in Keras 2 only.
  bool is_network(const SavedLayer& saved) const {
    const auto* network = dynamic_cast<const Network*>(saved.layer.get());
    return network != nullptr && (is_keras2_ || network->kind() == Network::Kind::kFunctional);
  }

  Tensor model_tensor(const Json& json) const {
    const TensorReference reference = read_reference(json, where_);
    const Tensor* tensor = find(reference, /*counts_from_one=*/true);
    if (tensor == nullptr)
      invalid_argument(where_, "there is no tensor [\"{}\", {}, {}]", reference.layer,
                       reference.node, reference.tensor);
    return *tensor;
  }

  std::vector<Tensor> read_tensors(const char* key, TensorStructure& structure) const {
    if (!config_.contains(key)) invalid_argument(where_, "`{}` must be there", key);
    const Json& json = config_[key];
    std::vector<Tensor> tensors;
    if (is_reference(json)) return {model_tensor(json)};
    if (json.is_array()) {
      structure.kind = TensorStructure::Kind::kList;
      for (const Json& element : json) tensors.push_back(flat_tensor(element));
      return tensors;
    }
    if (!json.is_object())
      invalid_argument(where_, "`{}` must be a tensor, a list or a dict: {}", key, json.dump());
    structure.kind = TensorStructure::Kind::kDict;
    for (const auto& [name, element] : json.items()) structure.keys.push_back(name);
    std::vector<std::string> sorted = structure.keys;
    std::sort(sorted.begin(), sorted.end());
    for (const std::string& name : sorted) tensors.push_back(flat_tensor(json[name]));
    return tensors;
  }

  Tensor flat_tensor(const Json& json) const {
    if (!is_reference(json))
      unsupported(where_, "unsupported nested inputs or outputs: {}", json.dump());
    return model_tensor(json);
  }

  const Json& config_;
  std::string name_, where_;
  std::vector<SavedLayer> layers_;
  std::unordered_map<std::string, size_t> indices_;
  bool is_keras2_ = false;
};

/// Row shape of [null, 28, 28, 1].
Shape read_row_shape(const Json& json, std::string_view where) {
  if (!json.is_array() || json.empty())
    invalid_argument(where, "an input shape must be a list that begins with the batch: {}",
                     json.dump());
  Dims dims;
  for (size_t i = 1; i < json.size(); ++i) {
    if (!json[i].is_null() && !json[i].is_number_integer())
      invalid_argument(where, "an input shape must be integers and nulls: {}", json.dump());
    dims.push_back(json[i].is_null() ? -1 : json[i].get<int64_t>());
  }
  return Shape(std::move(dims));
}

/// Of a Sequential that does not begin with an InputLayer: build_input_shape, or what Keras 2 wrote
/// into the first layer.
std::optional<TensorSpec> sequential_input(const Json& config, const Json& layers,
                                           std::string_view where) {
  const Json* shape = nullptr;
  if (config.is_object() && config.contains("build_input_shape"))
    shape = &config["build_input_shape"];
  const Json& first = layers[0];
  if (first.is_object() && first.contains("config") && first["config"].is_object() &&
      first["config"].contains("batch_input_shape"))
    shape = &first["config"]["batch_input_shape"];
  if (shape == nullptr || shape->is_null()) return std::nullopt;
  return TensorSpec{read_row_shape(*shape, where).with_rows(-1), DType::kF32};
}

bool any_trainable(const std::vector<LayerPtr>& layers) {
  return std::any_of(layers.begin(), layers.end(), [](const LayerPtr& layer) {
    return layer->class_name() != "InputLayer" && layer->trainable();
  });
}

NetworkPtr read_sequential(const Json& config) {
  // Keras before 2.2.3 wrote the bare list.
  const std::string name = config.is_object() ? optional_name(config) : "";
  const std::string where = layer_label("Sequential", name);
  const Json& saved_layers = config.is_array() ? config : list_field(config, "layers", where);
  std::vector<LayerPtr> layers;
  for (const Json& layer : saved_layers) layers.push_back(layer_from_config(layer));
  if (layers.empty()) invalid_argument(where, "a model must have layers");
  const bool has_input = layers.front()->class_name() == "InputLayer";
  NetworkPtr network = Network::sequential(
      layers, has_input ? std::nullopt : sequential_input(config, saved_layers, where), name);
  // Keras forgets this flag when it reads; the layers' own ones count. Kept where they agree.
  if (config.is_object())
    NetworkReader::set_trainable(*network, optional_flag(config, "trainable", true, where) ||
                                               any_trainable(network->layers()));
  return network;
}

}  // namespace

NetworkPtr network_from_config(const Json& json) {
  check_nesting(json);
  if (!json.is_object() || !json.contains("config"))
    invalid_argument("model", "a model must be an object with \"class_name\" and \"config\"");
  const std::string class_name = string_field(json, "class_name", "model");
  const Json& config = json["config"];
  if (class_name == "Sequential") return read_sequential(config);
  if (class_name != "Functional" && class_name != "Model")
    unsupported("model", "unsupported model class {}: Functional and Sequential are known",
                class_name);
  if (!config.is_object())
    invalid_argument("model", "\"config\" must be an object: {}", config.dump());
  if (!config.contains("layers"))
    unsupported("model", "unsupported model class {}: a subclass without a graph of layers",
                class_name);
  return FunctionalReader(config).read();
}

}  // namespace lockstep
