// The .keras file: a model as plain Keras opens it, with weights, optimizer state and how it was
// compiled.
#pragma once

#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "lockstep/formats/files.h"
#include "lockstep/io/keras_config.h"
#include "lockstep/nn/network.h"
#include "lockstep/nn/optimizer_state.h"
#include "lockstep/nn/trainable_flags.h"

namespace lockstep {

/// A model inside another one that was compiled itself, as a GAN's discriminator is.
struct InnerModel {
  std::string path;  // of its layer in the file (see saved_path)
  Json compile_config;
  std::optional<OptimizerState> optimizer;
};

struct KerasFile {
  NetworkPtr network;                       // with weights
  std::optional<Json> compile_config;       // null or absent: not compiled
  std::optional<OptimizerState> optimizer;  // absent when the file holds none
  Remarks remarks{};                        // what of the file was left, or read otherwise
  std::vector<InnerModel> inner{};
};

/// Reads a .keras file (zip). Throws NotFound, DataLoss (damaged, naming member and rule),
/// Unsupported (layers Lockstep lacks; code in the file is never run), InvalidArgument.
KerasFile read_keras_file(const std::filesystem::path& path);

/// Writes atomically: the old file stays until the new one is durable. Equal content gives equal
/// bytes. `compile_config` and `optimizer` may be null.
void write_keras_file(const std::filesystem::path& path, const Network& network,
                      const Json* compile_config, const OptimizerState* optimizer);

/// A model as it was at one moment, with values of its own: it can be written while training goes
/// on.
struct ModelSnapshot {
  std::shared_ptr<const Network> network;  // its structure, which does not change
  Json config;                             // with the `trainable` flags of that moment
  std::optional<Json> compile_config;
  std::optional<OptimizerState> optimizer;
  std::vector<HostTensor> values;  // of network->all_variables()
  std::vector<InnerModel> inner{};
};

/// Copies the newest values of the network's variables. `compile_config` and `optimizer` may be
/// null; so may `flags`: then the layers' own flags are written.
ModelSnapshot take_snapshot(const std::shared_ptr<const Network>& network,
                            const Json* compile_config, const OptimizerState* optimizer,
                            const TrainableFlags* flags = nullptr);

/// "layers/sequential_1": where files keep what belongs to a layer of the network, "" for the
/// network itself. Throws NotFound for a layer that is not in it.
std::string saved_path(const Network& network, const Layer& layer);

/// The .keras file. Equal content gives equal bytes.
Bytes keras_file_bytes(const ModelSnapshot& snapshot);
/// The .weights.h5 file: without optimizer and configuration.
Bytes weights_file_bytes(const ModelSnapshot& snapshot);
/// As `read_keras_file`, from bytes; `where` names them in messages.
KerasFile parse_keras_file(Bytes bytes, const std::string& where);

/// Whether it ends in .h5 (.weights.h5 too) or .hdf5.
bool is_hdf5_name(const std::filesystem::path& path);

/// Model of any file that holds one: .keras, .h5 or .hdf5 of Keras 2 and 3, or .json (architecture
/// only, weights not yet initialised).
KerasFile read_model_file(const std::filesystem::path& path);

/// Loads the weights of a .keras, .weights.h5, .h5 or .hdf5 file, of a whole model too, into a
/// built network. Counts and shapes must match: an error names the layer, the variable, both
/// shapes; nothing is changed then. In .h5 files of Keras 1 and 2 names say which weight is whose.
void load_weights(const std::filesystem::path& path, Network& network);

}  // namespace lockstep
