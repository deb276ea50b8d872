// The order of layers and calls in a functional network: Keras's, on which file paths depend.
#pragma once

#include <memory>
#include <vector>

#include "lockstep/nn/layer.h"

namespace lockstep {

struct NetworkOrder {
  std::vector<LayerPtr> walked;  // each layer once, inputs of a call before it
  std::vector<LayerPtr> layers;  // by depth (calls between it and the outputs), then as met
  std::vector<std::shared_ptr<LayerCall>> calls;  // by depth; InputLayers' are left out
};

/// Walks back from the outputs. Throws InvalidArgument for an output that depends on an InputLayer
/// that is not among the inputs.
NetworkOrder network_order(const std::vector<Tensor>& inputs, const std::vector<Tensor>& outputs);

}  // namespace lockstep
