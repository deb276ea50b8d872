// The programs that move and add sums between devices. They hold slices, joins and additions only,
// so that their bits cannot depend on the number of devices they are made for.
#pragma once

#include <memory>
#include <span>
#include <vector>

#include "lockstep/ir/graph.h"
#include "lockstep/towers/step_plan.h"

namespace lockstep {

/// (a..., b...) -> (a + b)..., f32 of `sizes`.
std::unique_ptr<Graph> add_graph(std::span<const int64_t> sizes);

/// Vectors of `sizes` -> one vector a device: those that it owns, joined in order. A device that
/// owns none gets one element, zero.
std::unique_ptr<Graph> scatter_graph(std::span<const int64_t> sizes, std::span<const int> owners,
                                     int devices);

/// What scatter_graph made for one device -> the vectors that it owns.
std::unique_ptr<Graph> split_graph(std::span<const int64_t> sizes);

/// Elements of the joined vector of vectors of `sizes`.
int64_t joined_size(std::span<const int64_t> sizes);

}  // namespace lockstep
