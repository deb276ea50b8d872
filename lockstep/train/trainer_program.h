// Steps of one kind, ready to run. Private to the trainer.
#pragma once

#include <memory>
#include <optional>
#include <vector>

#include "lockstep/train/trainer.h"

namespace lockstep {

struct Trainer::Program {
  /// Targets of a sparse loss: class indices in [0, classes), or the ignored one.
  struct Labels {
    size_t column;
    int64_t classes;
    std::optional<int64_t> ignored;
  };

  StepKind kind;
  DataBinding binding;
  StepLayout layout;
  std::vector<Labels> labels;
  std::vector<int64_t> prepared;  // batch sizes whose tower shapes are compiled
  std::unique_ptr<StepRunner> runner;
  std::unique_ptr<StepRunner> denominators;  // only where a loss's denominator depends on data
  std::vector<double> denominator_values, output_losses;
  uint64_t seen_version = 0;
};

}  // namespace lockstep
