// The optimizer's state in whole-model .h5 files, whose order each version of Keras made anew.
#pragma once

#include <string>

#include "lockstep/formats/hdf5.h"
#include "lockstep/nn/network.h"
#include "lockstep/nn/optimizer.h"
#include "lockstep/nn/optimizer_state.h"

namespace lockstep {

/// The state of `optimizer` for the network's trainable variables from "optimizer_weights", in the
/// order of today's files. Throws Error saying why where the file does not tell without doubt whose
/// each tensor is. `keras_version` as the file has it.
OptimizerState read_legacy_optimizer(const Hdf5Reader& h5, const std::string& where,
                                     const Network& network, const Optimizer& optimizer,
                                     const std::string& keras_version);

}  // namespace lockstep
