// MODEL and SOURCE words of the command line.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "lockstep/data/sources.h"
#include "lockstep/train/model.h"

namespace lockstep {

/// A .keras, .h5, .hdf5 or .json file, zoo:NAME, a checkpoint, or a run folder (its newest whole
/// checkpoint).
Model open_model(const std::string& word);

struct GanParts {
  Model generator, discriminator;
};
/// Of a model that is made of layers "generator" and "discriminator", which are models: both share
/// its weights. The discriminator is compiled as the model is and frozen inside it, whose optimizer
/// stays. None for other models. The model must be compiled.
std::optional<GanParts> gan_parts(Model& model);

/// A source whose integer labels are made one-hot where the model's loss wants rows (image
/// sources).
DatasetPtr open_data(const std::string& word, Part part, const Model& model);

/// File of --losses: .npy, .json or text with a line a step, by extension. One list, or several of
/// equal length that lie side by side: d_loss and g_loss of a GAN.
void write_losses(const std::string& path, const std::vector<std::vector<double>>& losses);

}  // namespace lockstep
