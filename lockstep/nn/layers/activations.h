// Layers that are a function of each element, and Softmax. All keep the input's shape; integers
// become float32.
#pragma once

#include "lockstep/nn/activation.h"
#include "lockstep/nn/layer.h"

namespace lockstep {

struct ActivationConfig {
  static constexpr std::string_view kClassName = "Activation";
  ActivationFunction activation = "linear";
  std::string name = "";
  bool trainable = true;

  static void visit(auto& self, auto&& field) { field("activation", self.activation); }
};

/// A function by Keras's name: activation.h lists them.
LayerHandle Activation(ActivationConfig config);
LayerHandle Activation(const char* activation);

struct ReLUConfig {
  static constexpr std::string_view kClassName = "ReLU";
  std::optional<double> max_value = std::nullopt;  // >= 0
  double negative_slope = 0.0;                     // >= 0
  double threshold = 0.0;                          // >= 0
  std::string name = "";
  bool trainable = true;

  static void visit(auto& self, auto&& field) {
    field("max_value", self.max_value);
    field("negative_slope", self.negative_slope);
    field("threshold", self.threshold);
  }
};

/// min(x, max_value) above threshold, negative_slope * (x - threshold) below. Throws
/// InvalidArgument naming the layer for a number below 0.
LayerHandle ReLU(ReLUConfig config = {});

struct LeakyReLUConfig {
  static constexpr std::string_view kClassName = "LeakyReLU";
  double negative_slope = 0.3;
  std::string name = "";
  bool trainable = true;

  static void visit(auto& self, auto&& field) {
    field.formerly("alpha", self.negative_slope);
    field("negative_slope", self.negative_slope);
  }
};

/// x above 0, negative_slope * x below.
LayerHandle LeakyReLU(LeakyReLUConfig config = {});

struct ELUConfig {
  static constexpr std::string_view kClassName = "ELU";
  double alpha = 1.0;
  std::string name = "";
  bool trainable = true;

  static void visit(auto& self, auto&& field) { field("alpha", self.alpha); }
};

/// x above 0, alpha * (e^x - 1) below.
LayerHandle ELU(ELUConfig config = {});

struct SoftmaxConfig {
  static constexpr std::string_view kClassName = "Softmax";
  int64_t axis = -1;
  std::string name = "";
  bool trainable = true;

  static void visit(auto& self, auto&& field) { field("axis", self.axis); }
};

/// e^x / sum(e^x) along one axis. Throws InvalidArgument naming the layer for an axis that is not
/// one.
LayerHandle Softmax(SoftmaxConfig config = {});

}  // namespace lockstep
