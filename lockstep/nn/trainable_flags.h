// Which layers train, as it was when a model was compiled.
#pragma once

#include <unordered_map>

#include "lockstep/nn/network.h"

namespace lockstep {

/// The `trainable` flags of a network and all layers in it at one moment. A model keeps those of
/// its compile: a discriminator compiled by itself goes on training although it was frozen
/// afterwards, before a GAN was compiled around it.
class TrainableFlags {
 public:
  explicit TrainableFlags(const Network& network);

  /// The flag of the network or of a layer in it.
  bool trains(const Layer& layer) const;
  /// What an optimizer trains, in Keras's order.
  std::vector<VariablePtr> variables(const Network& network) const;
  /// Puts the flags into the network's configuration as `network_to_config` wrote it.
  void write_to(Json& network_config, const Network& network) const;

 private:
  std::unordered_map<const Layer*, bool> flags_;
};

}  // namespace lockstep
