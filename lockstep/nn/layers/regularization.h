// Dropout and ActivityRegularization.
#pragma once

#include "lockstep/nn/layer.h"

namespace lockstep {

struct DropoutConfig {
  static constexpr std::string_view kClassName = "Dropout";
  double rate = 0.5;                           // 0 <= rate < 1
  std::optional<int64_t> seed = std::nullopt;  // none: the run's
  std::string name = "";
  bool trainable = true;

  static void visit(auto& self, auto&& field) {
    field("rate", self.rate);
    field("seed", self.seed);
    field.fixed("noise_shape", nullptr);
  }
};

/// While training, each element is 0 with probability `rate`, else x / (1 - rate); otherwise, and
/// for rate 0, x itself. Which elements: docs/determinism.md, "Random numbers".
/// Throws InvalidArgument naming the layer for another rate.
LayerHandle Dropout(DropoutConfig config);
LayerHandle Dropout(double rate);

struct ActivityRegularizationConfig {
  static constexpr std::string_view kClassName = "ActivityRegularization";
  double l1 = 0.0, l2 = 0.0;
  std::string name = "";
  bool trainable = true;

  static void visit(auto& self, auto&& field) {
    field("l1", self.l1);
    field("l2", self.l2);
  }
};

/// x itself; adds (l1 * sum|x| + l2 * sum x^2) / rows to the loss.
LayerHandle ActivityRegularization(ActivityRegularizationConfig config);

}  // namespace lockstep
