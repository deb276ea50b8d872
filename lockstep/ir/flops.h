// The arithmetic of a graph's contractions: what tower sizes and roofs are worked out from.
#pragma once

#include "lockstep/ir/graph.h"

namespace lockstep {

/// Multiplications and additions of a convolution, one of its gradients, or a dot_general; 0 for
/// any other op.
double contraction_flops(const Graph& graph, const Node& node);
/// Of all nodes.
double contraction_flops(const Graph& graph);

}  // namespace lockstep
