// The backend that is the meaning: walks the graph calling each op's eval. Slow and obvious; f32
// and f64.
#pragma once

#include "lockstep/backend/backend.h"

namespace lockstep {

std::unique_ptr<Backend> make_reference_backend();

/// Results of a graph for these inputs, computed by eval. Inputs must have the parameters' types.
std::vector<HostTensor> evaluate(const Graph& graph, std::span<const HostTensor> inputs);

}  // namespace lockstep
