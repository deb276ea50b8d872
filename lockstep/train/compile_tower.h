// From a tower's graph to the compiled program that TowerRunner runs.
#pragma once

#include <memory>

#include "lockstep/backend/backend.h"
#include "lockstep/train/tower_graph.h"

namespace lockstep {

/// Simplifies, cuts into segments and compiles. `name` is for messages: "train step".
std::shared_ptr<TowerProgram> compile_tower(const Backend& backend, const TowerGraph& tower,
                                            int64_t rows, const std::string& name);

/// The same for devices with a memory of their own. Results that are sums become one vector a piece
/// of the step's gradients, in order, and one of everything behind them.
std::shared_ptr<TowerProgram> compile_resident_tower(const DeviceMemory& memory, TowerGraph tower,
                                                     const StepPlan& step, int64_t rows,
                                                     const std::string& name);

}  // namespace lockstep
