#include "lockstep/nn/trainable_flags.h"

namespace lockstep {
namespace {

void read_flags(const Layer& layer, std::unordered_map<const Layer*, bool>& flags) {
  flags[&layer] = layer.trainable();
  for (const LayerPtr& child : layer.layers()) read_flags(*child, flags);
}

}  // namespace

TrainableFlags::TrainableFlags(const Network& network) {
  read_flags(network, flags_);
}

bool TrainableFlags::trains(const Layer& layer) const {
  return flags_.at(&layer);
}

std::vector<VariablePtr> TrainableFlags::variables(const Network& network) const {
  return network.trainable_variables([this](const Layer& layer) { return trains(layer); });
}

void TrainableFlags::write_to(Json& network_config, const Network& network) const {
  Json& config = network_config.at("config");
  config["trainable"] = trains(network);
  const std::vector<LayerPtr> layers = network.saved_layers();
  LOCKSTEP_CHECK(config.at("layers").size() == layers.size());
  for (size_t i = 0; i < layers.size(); ++i) {
    Json& json = config["layers"][i];
    if (const auto* inner = dynamic_cast<const Network*>(layers[i].get()))
      write_to(json, *inner);
    else if (json.at("config").contains("trainable"))
      json["config"]["trainable"] = trains(*layers[i]);
  }
}

}  // namespace lockstep
