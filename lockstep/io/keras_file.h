// The .keras file: a model as plain Keras opens it, with weights, optimizer state and how it was
// compiled.
#pragma once

#include <filesystem>
#include <optional>

#include "lockstep/nn/network.h"
#include "lockstep/nn/optimizer_state.h"

namespace lockstep {

struct KerasFile {
  NetworkPtr network;                       // with weights
  std::optional<Json> compile_config;       // null or absent: not compiled
  std::optional<OptimizerState> optimizer;  // absent when the file holds none
};

/// Reads a .keras file (zip). Throws NotFound, DataLoss (damaged, naming member and rule),
/// Unsupported (layers Lockstep lacks; code in the file is never run), InvalidArgument.
KerasFile read_keras_file(const std::filesystem::path& path);

/// Writes atomically: the old file stays until the new one is durable. Equal content gives equal
/// bytes. `compile_config` and `optimizer` may be null.
void write_keras_file(const std::filesystem::path& path, const Network& network,
                      const Json* compile_config, const OptimizerState* optimizer);

/// Model of any file that holds one: .keras, or .json (architecture only, weights not yet
/// initialised).
KerasFile read_model_file(const std::filesystem::path& path);

/// Loads the weights of a .keras or .weights.h5 file into a built network. Counts and shapes must
/// match: an error names the layer, the variable, both shapes; nothing is changed then.
void load_weights(const std::filesystem::path& path, Network& network);

}  // namespace lockstep
