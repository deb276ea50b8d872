// What the tests of .h5 files in the layout of Keras 1 and 2 share.
#pragma once

#include "lockstep/formats/hdf5.h"
#include "lockstep/io/legacy_weights.h"
#include "lockstep/nn/layers/convolution.h"
#include "tests/io/io_test_util.h"

namespace lockstep {

struct LegacyLayer {
  std::string name;
  std::vector<std::pair<std::string, HostTensor>> weights;
};

/// As Keras lays it out; `group` is "" in files of weights alone.
inline void add_legacy_layers(Hdf5Writer& h5, const std::vector<LegacyLayer>& layers,
                              const std::string& group = "") {
  const std::string prefix = group.empty() ? "" : group + "/";
  std::vector<std::string> layer_names;
  for (const LegacyLayer& layer : layers) {
    std::vector<std::string> weight_names;
    h5.add_group(prefix + layer.name);
    for (const auto& [name, value] : layer.weights) {
      weight_names.push_back(name);
      h5.add_dataset(prefix + layer.name + "/" + name, value);
    }
    h5.add_text_list_attribute(prefix + layer.name, "weight_names", weight_names);
    layer_names.push_back(layer.name);
  }
  if (!group.empty()) h5.add_group(group);
  h5.add_text_list_attribute(group, "layer_names", layer_names);
}

inline Bytes legacy_file(const std::vector<LegacyLayer>& layers) {
  Hdf5Writer h5;
  add_legacy_layers(h5, layers);
  return h5.finish();
}

/// Every variable with other values.
inline void number_weights(const Network& network, float start = 0) {
  for (const VariablePtr& variable : network.all_variables())
    variable->value = numbered(variable->shape, start += 10);
}

inline void clear_weights(const Network& network) {
  for (const VariablePtr& variable : network.all_variables())
    variable->value = HostTensor(DType::kF32, variable->shape);
}

/// The file that `network` is written to.
inline Bytes legacy_bytes_of(const NetworkPtr& network) {
  return legacy_weights_bytes(take_snapshot(network, nullptr, nullptr));
}

/// Two hidden layers with batch normalization between them, all of 3 by 3, and one more: no shape
/// tells one weight from another. Layers are called `prefix`_hidden, _bn, _second, _out.
inline NetworkPtr square_network(const std::string& name, const std::string& prefix) {
  const Tensor x = Input({3}, {.name = prefix + "_x"});
  const auto dense = [&](const char* kind) {
    return Dense({.units = 3, .use_bias = false, .name = prefix + kind});
  };
  const Tensor bn = BatchNormalization({.name = prefix + "_bn"})(dense("_hidden")(x));
  return Network::functional({x}, {dense("_out")(dense("_second")(bn))}, name);
}

/// A generator and a discriminator in one model.
inline NetworkPtr gan_of(const NetworkPtr& generator, const NetworkPtr& discriminator) {
  const Tensor z = Input({3}, {.name = "z"});
  return Network::functional({z}, {LayerHandle(discriminator)(LayerHandle(generator)(z))}, "gan");
}

}  // namespace lockstep
