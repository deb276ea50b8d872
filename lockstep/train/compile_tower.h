// From a tower's graph to the compiled program that TowerRunner runs.
#pragma once

#include <memory>

#include "lockstep/backend/backend.h"
#include "lockstep/train/tower_graph.h"

namespace lockstep {

/// Simplifies, cuts into segments and compiles. `name` is for messages: "train step".
std::shared_ptr<TowerProgram> compile_tower(const Backend& backend, const TowerGraph& tower,
                                            int64_t rows, const std::string& name);

}  // namespace lockstep
