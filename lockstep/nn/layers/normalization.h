// BatchNormalization.
#pragma once

#include "lockstep/nn/constraint.h"
#include "lockstep/nn/initializer.h"
#include "lockstep/nn/layer.h"
#include "lockstep/nn/regularizer.h"

namespace lockstep {

struct BatchNormalizationConfig {
  static constexpr std::string_view kClassName = "BatchNormalization";
  int64_t axis = -1;  // of the channels
  double momentum = 0.99;
  double epsilon = 1e-3;
  bool center = true, scale = true;
  ObjectOrName<Initializer> beta_initializer = "zeros";
  ObjectOrName<Initializer> gamma_initializer = "ones";
  ObjectOrName<Initializer> moving_mean_initializer = "zeros";
  ObjectOrName<Initializer> moving_variance_initializer = "ones";
  ObjectOrName<Regularizer> beta_regularizer = nullptr;
  ObjectOrName<Regularizer> gamma_regularizer = nullptr;
  ObjectOrName<Constraint> beta_constraint = nullptr;
  ObjectOrName<Constraint> gamma_constraint = nullptr;
  bool synchronized = false;  // statistics of the global batch instead of the tower's
  std::string name = "";
  bool trainable = true;

  static void visit(auto& self, auto&& field) {
    field("axis", self.axis);
    field("momentum", self.momentum);
    field("epsilon", self.epsilon);
    field("center", self.center);
    field("scale", self.scale);
    field("beta_initializer", self.beta_initializer);
    field("gamma_initializer", self.gamma_initializer);
    field("moving_mean_initializer", self.moving_mean_initializer);
    field("moving_variance_initializer", self.moving_variance_initializer);
    field("beta_regularizer", self.beta_regularizer);
    field("gamma_regularizer", self.gamma_regularizer);
    field("beta_constraint", self.beta_constraint);
    field("gamma_constraint", self.gamma_constraint);
    field("synchronized", self.synchronized);
    field.fixed("renorm", false);
    field.fixed("renorm_clipping", nullptr);
    field.unread("renorm_momentum", 0.99);
  }
};

/// (x - mean) / sqrt(variance + epsilon) * gamma + beta, of x's shape; mean and biased variance a
/// channel, over all other axes.
///
///   gamma             f32[channels]   with scale
///   beta              f32[channels]   with center
///   moving_mean       f32[channels]   state: moving * momentum + mean * (1 - momentum), once a
///   step moving_variance   f32[channels]   state, likewise
///
/// Training: statistics of the tower's rows, or with `synchronized` (or --batchnorm global) of the
/// global batch by two tower sums, mean first; either way the moving averages see the global batch.
/// In inference, and when the layer is frozen (trainable == false), the moving averages stand in,
/// as x * scale + shift. Throws InvalidArgument naming the layer for an axis that is not one, and
/// later inputs with another number of channels.
LayerHandle BatchNormalization(BatchNormalizationConfig config = {});

}  // namespace lockstep
