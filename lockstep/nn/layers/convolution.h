// 2-D convolutions, and transposed ones, of images [rows, height, width, channels].
#pragma once

#include "lockstep/nn/activation.h"
#include "lockstep/nn/constraint.h"
#include "lockstep/nn/initializer.h"
#include "lockstep/nn/layer.h"
#include "lockstep/nn/regularizer.h"

namespace lockstep {

struct Conv2DConfig {
  static constexpr std::string_view kClassName = "Conv2D";
  int64_t filters = 0;   // > 0
  Pair kernel_size = 0;  // > 0
  Pair strides = 1;
  std::string padding = "valid";  // or "same"
  Pair dilation_rate = 1;
  int64_t groups = 1;  // divides filters and input channels
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
    field("filters", self.filters);
    field("kernel_size", self.kernel_size);
    field("strides", self.strides);
    field("padding", self.padding);
    field.fixed("data_format", "channels_last");
    field("dilation_rate", self.dilation_rate);
    field("groups", self.groups);
    field("activation", self.activation);
    field("use_bias", self.use_bias);
    field("kernel_initializer", self.kernel_initializer);
    field("bias_initializer", self.bias_initializer);
    field("kernel_regularizer", self.kernel_regularizer);
    field("bias_regularizer", self.bias_regularizer);
    field("activity_regularizer", self.activity_regularizer);
    field("kernel_constraint", self.kernel_constraint);
    field("bias_constraint", self.bias_constraint);
  }
};

/// activation(conv2d(x, kernel) + bias): [rows, h, w, in] -> [rows, h', w', filters], where
/// h' = ceil(h / stride) with padding "same", else (h - dilation * (size - 1) - 1) / stride + 1.
///
///   kernel   f32[size, size, in / groups, filters]
///   bias     f32[filters]                            with use_bias
///
/// Throws InvalidArgument naming the layer for numbers < 1, groups that do not divide, strides and
/// dilation both above 1 (as Keras), windows that do not fit, and inputs of another rank or number
/// of channels.
LayerHandle Conv2D(Conv2DConfig config);

struct Conv2DTransposeConfig {
  static constexpr std::string_view kClassName = "Conv2DTranspose";
  int64_t filters = 0;   // > 0
  Pair kernel_size = 0;  // > 0
  Pair strides = 1;
  std::string padding = "valid";                      // or "same"
  std::optional<Pair> output_padding = std::nullopt;  // >= 0, < strides
  Pair dilation_rate = 1;
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
    field("filters", self.filters);
    field("kernel_size", self.kernel_size);
    field("strides", self.strides);
    field("padding", self.padding);
    field("output_padding", self.output_padding);
    field.fixed("data_format", "channels_last");
    field("dilation_rate", self.dilation_rate);
    field("activation", self.activation);
    field("use_bias", self.use_bias);
    field("kernel_initializer", self.kernel_initializer);
    field("bias_initializer", self.bias_initializer);
    field("kernel_regularizer", self.kernel_regularizer);
    field("bias_regularizer", self.bias_regularizer);
    field("activity_regularizer", self.activity_regularizer);
    field("kernel_constraint", self.kernel_constraint);
    field("bias_constraint", self.bias_constraint);
  }
};

/// activation(the gradient of conv2d with regard to its images + bias): each pixel of the image is
/// spread over a window of the result: [rows, h, w, in] -> [rows, h', w', filters]. With n =
/// dilation
/// * (size - 1) + 1, h' is
///
///   h * stride                                         padding "same"
///   h * stride + max(n - stride, 0)                    padding "valid"
///   (h - 1) * stride + n + output_padding              "valid" with output_padding
///   (h - 1) * stride + n % 2 + output_padding          "same" with output_padding
///
///   kernel   f32[size, size, filters, in]
///   bias     f32[filters]                  with use_bias
///
/// Throws as Conv2D, and for an output_padding that is not below its stride.
LayerHandle Conv2DTranspose(Conv2DTransposeConfig config);

struct DepthwiseConv2DConfig {
  static constexpr std::string_view kClassName = "DepthwiseConv2D";
  Pair kernel_size = 0;  // > 0
  Pair strides = 1;
  std::string padding = "valid";  // or "same"
  int64_t depth_multiplier = 1;   // results of each channel
  Pair dilation_rate = 1;
  ActivationFunction activation = "linear";
  bool use_bias = true;
  ObjectOrName<Initializer> depthwise_initializer = "glorot_uniform";
  ObjectOrName<Initializer> bias_initializer = "zeros";
  ObjectOrName<Regularizer> depthwise_regularizer = nullptr;
  ObjectOrName<Regularizer> bias_regularizer = nullptr;
  ObjectOrName<Regularizer> activity_regularizer = nullptr;
  ObjectOrName<Constraint> depthwise_constraint = nullptr;
  ObjectOrName<Constraint> bias_constraint = nullptr;
  std::string name = "";
  bool trainable = true;

  static void visit(auto& self, auto&& field) {
    field("depth_multiplier", self.depth_multiplier);
    field("kernel_size", self.kernel_size);
    field("strides", self.strides);
    field("padding", self.padding);
    field.fixed("data_format", "channels_last");
    field("dilation_rate", self.dilation_rate);
    field("activation", self.activation);
    field("use_bias", self.use_bias);
    field("depthwise_initializer", self.depthwise_initializer);
    field("bias_initializer", self.bias_initializer);
    field("depthwise_regularizer", self.depthwise_regularizer);
    field("bias_regularizer", self.bias_regularizer);
    field("activity_regularizer", self.activity_regularizer);
    field("depthwise_constraint", self.depthwise_constraint);
    field("bias_constraint", self.bias_constraint);
  }
};

/// Each channel convolved by itself: [rows, h, w, in] -> [rows, h', w', in * depth_multiplier];
/// result channel c * depth_multiplier + m is channel c by its kernel m.
///
///   kernel   f32[size, size, in, depth_multiplier]
///   bias     f32[in * depth_multiplier]              with use_bias
///
/// Throws as Conv2D.
LayerHandle DepthwiseConv2D(DepthwiseConv2DConfig config);

}  // namespace lockstep
