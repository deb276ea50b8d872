// What an epoch's logs are made from.
#pragma once

#include <span>
#include <vector>

#include "lockstep/formats/json.h"
#include "lockstep/towers/step_runner.h"
#include "lockstep/train/tower_graph.h"

namespace lockstep {

/// Sums of metrics over steps, and the row-weighted mean of the steps' losses.
class MetricTotals {
 public:
  void reset();
  void add(double loss, std::span<const LossEntry> losses, std::span<const double> output_losses,
           std::span<const MetricEntry> metrics, StepSums& sums, int64_t rows);
  double loss() const { return rows_ > 0 ? weighted_loss_ / rows_ : 0; }
  double output_loss(size_t k) const { return rows_ > 0 ? output_losses_[k] / rows_ : 0; }
  std::vector<double> results(std::span<const MetricEntry> metrics) const;
  /// For checkpoints.
  Json state() const;
  void restore(const Json& state);

 private:
  double weighted_loss_ = 0, rows_ = 0;
  std::vector<double> output_losses_, sums_;
};

}  // namespace lockstep
