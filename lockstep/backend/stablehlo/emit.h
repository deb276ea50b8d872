// A graph as StableHLO text, the language that every PJRT plugin compiles.
// Spec: https://github.com/openxla/stablehlo/blob/main/docs/spec.md
#pragma once

#include <string>

#include "lockstep/backend/backend.h"
#include "lockstep/ir/graph.h"

namespace lockstep {

struct EmitOptions {
  // Of the module; letters, digits and '_' stay, the rest becomes '_', which also comes before a
  // digit in front.
  std::string name = "program";
  std::vector<Donation> donations;
};

/// One module with one function @main: a parameter an input, a result a graph result, in order.
/// float32 contractions ask for precision HIGHEST. Throws Unsupported naming an op that has no
/// place in a device program (tower_sum).
std::string emit_stablehlo(const Graph& graph, const EmitOptions& options = {});

}  // namespace lockstep
