// Dense: a matrix product over the last axis.
#pragma once

#include "lockstep/nn/activation.h"
#include "lockstep/nn/constraint.h"
#include "lockstep/nn/initializer.h"
#include "lockstep/nn/layer.h"
#include "lockstep/nn/regularizer.h"

namespace lockstep {

struct DenseConfig {
  static constexpr std::string_view kClassName = "Dense";
  int64_t units = 0;  // > 0
  ActivationFunction activation = "linear";
  bool use_bias = true;
  ObjectOrName<Initializer> kernel_initializer = "glorot_uniform";
  ObjectOrName<Initializer> bias_initializer = "zeros";
  ObjectOrName<Regularizer> kernel_regularizer = nullptr;
  ObjectOrName<Regularizer> bias_regularizer = nullptr;
  ObjectOrName<Regularizer> activity_regularizer = nullptr;
  ObjectOrName<Constraint> kernel_constraint = nullptr;
  ObjectOrName<Constraint> bias_constraint = nullptr;
  std::string name = "";
  bool trainable = true;

  static void visit(auto& self, auto&& field) {
    field("units", self.units);
    field("activation", self.activation);
    field("use_bias", self.use_bias);
    field("kernel_initializer", self.kernel_initializer);
    field("bias_initializer", self.bias_initializer);
    field("kernel_regularizer", self.kernel_regularizer);
    field("bias_regularizer", self.bias_regularizer);
    field("kernel_constraint", self.kernel_constraint);
    field("bias_constraint", self.bias_constraint);
    field.fixed("quantization_config", nullptr);
  }
};

/// activation(x . kernel + bias): [rows, ..., in] -> [rows, ..., units].
///
///   kernel   f32[in, units]
///   bias     f32[units]       with use_bias
///
/// Throws InvalidArgument naming the layer for units < 1, an input without a last axis, and later
/// inputs of another `in`.
LayerHandle Dense(DenseConfig config);

}  // namespace lockstep
