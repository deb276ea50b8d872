#include "lockstep/io/keras_config.h"

#include <cctype>
#include <cstdio>

#include "lockstep/nn/object_fields.h"

namespace lockstep {
namespace {

bool has_array(const Json& json, const char* key) {
  return json.is_object() && json.contains(key) && json[key].is_array();
}

std::string text_of(const Json& json, const char* key) {
  return json.is_object() && json.contains(key) && json[key].is_string()
             ? json[key].get<std::string>()
             : "";
}

const Json& config_of(const Json& object) {
  static const Json kNone = Json::object();
  return object.is_object() && object.contains("config") ? object["config"] : kNone;
}

/// A graph of layers, whatever its class is called.
bool is_graph(const Json& object) {
  const Json& config = config_of(object);
  return has_array(config, "layers") && config.contains("input_layers") &&
         config.contains("output_layers");
}

bool is_model(const Json& object) {
  return is_graph(object) || text_of(object, "class_name") == "Sequential";
}

/// The slice of the batch for one device: Lambda(get_slice, arguments={"i": 0, "parts": 2}).
bool is_batch_slice(const Json& layer) {
  if (text_of(layer, "class_name") != "Lambda") return false;
  const Json& config = config_of(layer);
  if (!config.is_object() || !config.contains("arguments")) return false;
  const Json& arguments = config["arguments"];
  return arguments.is_object() && arguments.contains("i") && arguments.contains("parts");
}

bool joins_batches(const Json& layer) {
  const Json& config = config_of(layer);
  return text_of(layer, "class_name") == "Concatenate" && config.is_object() &&
         config.contains("axis") && config["axis"] == Json(0);
}

/// The model inside what Keras 2's multi_gpu_model makes: inputs, slices of the batch, one model
/// called on each, and concatenations along the batch. Null for anything else.
const Json* parallel_model(const Json& object) {
  if (!is_graph(object)) return nullptr;
  const Json* inner = nullptr;
  int slices = 0;
  for (const Json& layer : config_of(object)["layers"]) {
    if (text_of(layer, "class_name") == "InputLayer" || joins_batches(layer)) continue;
    if (is_batch_slice(layer)) {
      ++slices;
    } else if (inner == nullptr && is_model(layer)) {
      inner = &layer;
    } else {
      return nullptr;
    }
  }
  return slices > 0 ? inner : nullptr;
}

void modernise(Json& json, Remarks& remarks) {
  if (!json.is_structured()) return;
  for (auto& child : json) modernise(child, remarks);
  const std::string name = text_of(json, "class_name");
  if (name == "BatchNormalizationV1" || name == "BatchNormalizationV2")
    json["class_name"] = "BatchNormalization";
  // Keras 2 wrote it, though the class has no groups of its own.
  if (name == "DepthwiseConv2D" && json.contains("config") && json["config"].is_object() &&
      json["config"].value("groups", Json(1)) == Json(1))
    json["config"].erase("groups");
  // Keras 3 says of its objects which module they are from.
  const bool is_old = !json.is_object() || !json.contains("module");
  if (is_old && is_graph(json) && !name.empty() && name != "Functional" && name != "Model") {
    remarks.push_back(
        fmt::format("\"{}\" is of the class {}, which is not known: it is read as the graph of its "
                    "layers, without what the class does besides",
                    text_of(config_of(json), "name"), name));
    json["class_name"] = "Functional";
  }
}

/// categorical_accuracy is computed by CategoricalAccuracy.
std::string class_of_function(const std::string& name) {
  std::string result;
  bool is_start = true;
  for (const char c : name) {
    if (c != '_')
      result += is_start ? static_cast<char>(std::toupper(static_cast<unsigned char>(c))) : c;
    is_start = c == '_';
  }
  return result;
}

/// Losses or metrics, from `module`: Keras 2 writes a wrapper with the function's name, and a
/// reduction "auto".
void modernise_measures(Json& json, std::string_view module) {
  if (!json.is_structured()) return;
  if (!json.is_object() || !json.contains("class_name")) {
    for (auto& child : json) modernise_measures(child, module);
    return;
  }
  if (!json.contains("config") || !json["config"].is_object()) return;
  Json& config = json["config"];
  const std::string function = text_of(config, "fn");
  if (!function.empty() && text_of(json, "class_name") == "MeanMetricWrapper")
    json["class_name"] = class_of_function(function);
  config.erase("fn");
  if (text_of(config, "reduction") == "auto") config["reduction"] = "sum_over_batch_size";
  if (!json.contains("module"))
    json = keras_object_json(module, text_of(json, "class_name"), Json(config));
}

/// Keras 2's `decay`: rate / (1 + decay * step).
Json decaying_rate(const Json& rate, const Json& decay) {
  return keras_object_json(
      "keras.optimizers.schedules", "InverseTimeDecay",
      {{"initial_learning_rate", rate}, {"decay_steps", 1}, {"decay_rate", decay}});
}

Json modern_optimizer(Json optimizer, const std::string& keras_version) {
  if (!optimizer.is_object() || !config_of(optimizer).is_object()) return optimizer;
  if (const std::string name = text_of(optimizer, "class_name"); name.starts_with("Custom>"))
    optimizer["class_name"] = name.substr(std::string_view("Custom>").size());
  if (!optimizer.contains("config")) return optimizer;
  Json& config = optimizer["config"];
  for (const char* key : {"jit_compile", "is_legacy_optimizer"}) config.erase(key);
  if (config.contains("lr")) {
    config["learning_rate"] = config["lr"];
    config.erase("lr");
  }
  if (config.contains("decay")) {
    const Json decay = config["decay"];
    config.erase("decay");
    if (decay.is_number() && decay.get<double>() != 0 && config.contains("learning_rate"))
      config["learning_rate"] = decaying_rate(config["learning_rate"], decay);
  }
  // tf.keras always clipped variable by variable.
  if (config.contains("clipnorm") && is_older_version(keras_version, 2, 4) &&
      keras_version.find("tf") == std::string::npos) {
    config["global_clipnorm"] = config["clipnorm"];
    config.erase("clipnorm");
  }
  return optimizer;
}

}  // namespace

bool is_older_version(const std::string& version, int major, int minor) {
  int its_major = 0, its_minor = 0;
  std::sscanf(version.c_str(), "%d.%d", &its_major, &its_minor);
  return its_major < major || (its_major == major && its_minor < minor);
}

void refuse_code(const Json& json, const std::string& where) {
  const std::string name = text_of(json, "class_name");
  if (name == "Lambda" || name == "__lambda__")
    unsupported(where, "unsupported layer Lambda (\"{}\"): code in files is never run",
                text_of(config_of(json), "name"));
  if (json.is_structured())
    for (const auto& item : json) refuse_code(item, where);
}

Json modern_model_config(Json config, Remarks& remarks) {
  if (const Json* inner = parallel_model(config)) {
    remarks.push_back(
        fmt::format("the model was saved inside that of multi_gpu_model: \"{}\" is read, without "
                    "the wrapping",
                    text_of(config_of(*inner), "name")));
    Json model = *inner;
    model.erase("inbound_nodes");
    model.erase("name");
    config = std::move(model);
  }
  modernise(config, remarks);
  return config;
}

Json modern_compile_config(const Json& config, const std::string& keras_version) {
  if (!config.is_object()) return config;
  Json result = Json::object();
  for (const auto& [key, value] : config.items()) {
    // Keras 3 sees it from the weights' shape.
    if (key == "sample_weight_mode") continue;
    if (key == "optimizer_config" || key == "optimizer") {
      result["optimizer"] = modern_optimizer(value, keras_version);
      continue;
    }
    result[key] = value;
    if (key == "loss") modernise_measures(result[key], "keras.losses");
    if (key == "metrics" || key == "weighted_metrics")
      modernise_measures(result[key], "keras.metrics");
  }
  return result;
}

}  // namespace lockstep
