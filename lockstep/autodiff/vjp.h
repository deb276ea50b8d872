// Reverse-mode differentiation: one walk from the results back, contributions to a value added in
// the order of that walk.
#pragma once

#include <utility>
#include <vector>

#include "lockstep/ir/builder.h"

namespace lockstep {

/// Gradients of sum_i <seed_i, y_i> with respect to `wrt`, appended to the builder's graph.
/// `seeds` are (y_i, cotangent of y_i with y_i's type). Result k is invalid when nothing flows to
/// wrt[k]. Throws Unsupported naming the op and its layer when a gradient must pass an op that has
/// none.
std::vector<Value> gradients(Builder& builder, const std::vector<std::pair<Value, Value>>& seeds,
                             const std::vector<Value>& wrt);

}  // namespace lockstep
