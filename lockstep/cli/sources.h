// MODEL and SOURCE words of the command line.
#pragma once

#include <string>

#include "lockstep/data/sources.h"
#include "lockstep/train/model.h"

namespace lockstep {

/// A .keras, .h5, .hdf5 or .json file, zoo:NAME, a checkpoint, or a run folder (its newest whole
/// checkpoint).
Model open_model(const std::string& word);

/// A source whose integer labels are made one-hot where the model's loss wants rows (image
/// sources).
DatasetPtr open_data(const std::string& word, Part part, const Model& model);

/// Text of --losses: .npy, .json or one number a line, by extension.
void write_losses(const std::string& path, const std::vector<double>& losses);

}  // namespace lockstep
