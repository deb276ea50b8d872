// class_weight of fit: the weight of each sample's class, multiplied into its sample weight.
#pragma once

#include <map>

#include "lockstep/data/dataset.h"

namespace lockstep {

/// The dataset with a sample-weight column in f32; the same dataset when there are no weights.
/// Classes come from integer targets or are the largest element of one-hot rows; classes without a
/// weight have 1. Throws InvalidArgument without targets, Unsupported for several.
DatasetPtr with_class_weight(DatasetPtr data, const std::map<int64_t, double>& weights);

}  // namespace lockstep
