// All layer classes by their Keras names: one row each in registry.def.
#pragma once

#include <span>
#include <string>
#include <string_view>

#include "lockstep/nn/layer.h"

namespace lockstep {

struct LayerClass {
  std::string_view class_name, summary;
  /// A layer of this configuration ("config" of its JSON).
  LayerPtr (*read)(const Json& config);
  /// The class's own fields with their defaults, in Keras's order.
  Json (*defaults)();
};

std::span<const LayerClass> layer_classes();

/// A layer of {"module": ..., "class_name": ..., "config": ...}; networks are layers too. Throws
/// Unsupported naming a class Lockstep lacks (and what is no layer, such as an op), InvalidArgument
/// for a configuration that does not hold together.
LayerPtr layer_from_config(const Json& json);

/// The serialised layer as Keras 3 writes it: module, class_name, config, registered_name,
/// build_config.
Json layer_to_config(const Layer& layer);

/// docs/layers.md: every class with its fields and their defaults.
std::string layers_markdown();

}  // namespace lockstep
