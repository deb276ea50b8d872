// Whole models in .h5 files, as Keras 2 saved them and Keras 3 still can.
#pragma once

#include <string>

#include "lockstep/formats/hdf5.h"
#include "lockstep/io/keras_file.h"

namespace lockstep {

/// The model with weights, how it was compiled and the optimizer's state. What cannot be taken up
/// of the last two is named in the result's remarks. Throws Unsupported naming the class for layers
/// that Lockstep lacks, InvalidArgument for a file of weights alone, and as `load_legacy_weights`.
KerasFile read_legacy_model(const Hdf5Reader& h5, const std::string& where);

}  // namespace lockstep
