// Which columns of a dataset feed which inputs, targets and sample weights of a network.
#pragma once

#include <optional>
#include <vector>

#include "lockstep/data/loader.h"
#include "lockstep/nn/network.h"
#include "lockstep/train/tower_graph.h"

namespace lockstep {

/// Row types as the data has them, and where in the dataset each comes from (-1: not there).
struct DataBinding {
  std::vector<TensorType> inputs;
  std::vector<std::optional<TensorType>> targets, sample_weights;  // of each output
  std::vector<int> input_columns, target_columns, weight_columns;
  bool operator==(const DataBinding&) const = default;
};

/// By name, or the only one to the only one. Throws InvalidArgument naming both sides when a needed
/// input is missing, a column belongs to nothing, or shapes differ (a last axis of 1 more or less
/// is allowed).
DataBinding bind_data(const Dataset& dataset, const Network& network);

/// The batch columns that a program of this layout reads.
std::vector<WantedColumn> wanted_columns(const DataBinding& binding, const StepLayout& layout);

}  // namespace lockstep
