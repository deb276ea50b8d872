#include "lockstep/towers/step_runner.h"

#include <algorithm>

namespace lockstep {

PhaseTimes& PhaseTimes::operator+=(const PhaseTimes& o) {
  prologue += o.prologue, towers += o.towers, fold += o.fold;
  wait += o.wait, reduce += o.reduce, update += o.update;
  return *this;
}

std::vector<int64_t> StepRunner::tower_shapes(int64_t rows) const {
  std::vector<int64_t> shapes;
  for (const TowerRows& tower : cut_towers(rows, options_.tower_size))
    if (std::find(shapes.begin(), shapes.end(), tower.rows) == shapes.end())
      shapes.push_back(tower.rows);
  return shapes;
}

void StepRunner::add_program(std::shared_ptr<TowerProgram> program) {
  LOCKSTEP_CHECK(!has_program(program->rows));
  plan_.programs.push_back(std::move(program));
}

}  // namespace lockstep
