#include "lockstep/nn/registry.h"

#include <array>

#include "lockstep/nn/layer_fields.h"
#include "lockstep/nn/layers/layer_of.h"
#include "lockstep/nn/network.h"

namespace lockstep {

// Defined in layers/<family>.cpp; one left out is a link error that names it.
#define LAYER(Class, summary) LayerClass Class##_layer_class(std::string_view text);
#include "lockstep/nn/registry.def"
#undef LAYER

namespace {

bool is_network(std::string_view class_name) {
  return class_name == "Functional" || class_name == "Sequential" || class_name == "Model";
}

/// Layers and networks come from these modules; Keras 2 names none.
bool is_layer_module(const Json& object) {
  if (!object.contains("module") || object["module"].is_null()) return true;
  if (!object["module"].is_string()) return false;
  std::string module = object["module"].get<std::string>();
  if (module.starts_with("tf_")) module.erase(0, 3);  // Keras 2 under its later name
  return module == "keras" || module == "keras.layers" || module == "keras.models" ||
         module.starts_with("keras.src.layers") || module.starts_with("keras.src.models") ||
         module.starts_with("keras.engine") || module.starts_with("keras.src.engine");
}

Json shape_json(const Shape& shape) {
  Json json = Json::array();
  for (int64_t extent : shape) json.push_back(extent < 0 ? Json() : Json(extent));
  return json;
}

Json build_shapes(const Layer& layer) {
  if (layer.input_count() == 1) return shape_json(layer.build_inputs().front().shape);
  Json shapes = Json::array();
  for (const TensorSpec& input : layer.build_inputs()) shapes.push_back(shape_json(input.shape));
  return shapes;
}

}  // namespace

std::span<const LayerClass> layer_classes() {
  static const std::array kClasses = std::to_array<LayerClass>({
#define LAYER(Class, summary) Class##_layer_class(summary),
#include "lockstep/nn/registry.def"
#undef LAYER
  });
  return kClasses;
}

LayerPtr layer_from_config(const Json& json) {
  const KerasObject object = keras_object(json, "model");
  if (!is_layer_module(json))
    unsupported(
        "model", "unsupported object {}:{}, which is no layer",
        json["module"].is_string() ? json["module"].get<std::string>() : json["module"].dump(),
        object.class_name);
  if (is_network(object.class_name)) return network_from_config(json);
  for (const LayerClass& row : layer_classes())
    if (row.class_name == object.class_name) return row.read(object.config);
  unsupported("model", "unsupported layer {}", object.class_name);
}

Json layer_to_config(const Layer& layer) {
  if (const auto* network = dynamic_cast<const Network*>(&layer))
    return network_to_config(*network);
  Json json = keras_object_json("keras.layers", layer.class_name(), layer_config(layer));
  if (layer.is_built() && layer.has_build_config())
    json["build_config"] = {{"input_shape", build_shapes(layer)}};
  return json;
}

std::string layers_markdown() {
  std::string text = "# Layers\n";
  for (const LayerClass& row : layer_classes()) {
    text += fmt::format("\n## {}\n\n{}.\n\n", row.class_name, row.summary);
    text += "| field | default |\n|---|---|\n";
    const Json defaults = row.defaults();
    for (const auto& [key, value] : defaults.items()) {
      const bool is_object = value.is_object() && value.contains("class_name");
      text += fmt::format("| `{}` | `{}` |\n", key,
                          is_object ? value["class_name"].get<std::string>() : value.dump());
    }
  }
  return text;
}

void check_rank(const Layer& layer, const Shape& input, int rank) {
  if (input.rank() != rank)
    invalid_argument(layer.label(), "the input must have {} axes, the batch among them: {} came",
                     rank, input.str());
}

int checked_axis(const Layer& layer, int64_t axis, const Shape& input) {
  const int64_t counted = axis < 0 ? axis + input.rank() : axis;
  if (counted < 1 || counted >= input.rank())
    invalid_argument(layer.label(),
                     "`axis` must be one of the input's and not the batch: {} for {}", axis,
                     input.str());
  return static_cast<int>(counted);
}

}  // namespace lockstep
