// Data for programs that want a model's shapes and nothing more.
#pragma once

#include "lockstep/train/model.h"

namespace lockstep {

/// Inputs and targets of the model's shapes, in memory; targets are one-hot or class indices.
/// Throws Unsupported where an input has free axes.
DatasetPtr random_data(const Model& model, int64_t samples);

}  // namespace lockstep
