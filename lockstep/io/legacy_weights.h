// Weights as Keras 1 and 2 wrote them, and Keras 3 still does into plain .h5 files: a group for
// each layer of the outermost model, with the names of its weights in an attribute. A nested
// model's weights lie flat in its group, trainable ones first, so their order depends on flags
// that the file does not tell: names decide wherever they can.
#pragma once

#include <string>

#include "lockstep/formats/hdf5.h"
#include "lockstep/io/keras_file.h"

namespace lockstep {

/// The group that lists the layers: "" where the file holds weights alone, "model_weights" in the
/// file of a whole model; nothing when it is no such file.
std::optional<std::string> legacy_weights_group(const Hdf5Reader& h5);

/// Loads the weights in `group` into a built network. A file that wraps the model (of
/// `multi_gpu_model`, or with the model as its only layer) and a network that wraps the file's
/// model are seen through. Throws InvalidArgument naming layer, variable and both shapes where they
/// differ, where layers or weights are missing or too many, and where names leave open which weight
/// belongs where; nothing is changed then.
void load_legacy_weights(const Hdf5Reader& h5, const std::string& group, const std::string& where,
                         const Network& network);

/// The file as Keras 3 writes it with a plain .h5 name, weights alone. Equal content gives equal
/// bytes.
Bytes legacy_weights_bytes(const ModelSnapshot& snapshot);

}  // namespace lockstep
