// Pooling of images [rows, height, width, channels].
#pragma once

#include "lockstep/nn/layer.h"

namespace lockstep {

struct MaxPooling2DConfig {
  static constexpr std::string_view kClassName = "MaxPooling2D";
  Pair pool_size = 2;
  std::optional<Pair> strides = std::nullopt;  // none: pool_size
  std::string padding = "valid";               // or "same"
  std::string name = "";
  bool trainable = true;

  static void visit(auto& self, auto&& field) {
    field("pool_size", self.pool_size);
    field("padding", self.padding);
    field("strides", self.strides);
    field.fixed("data_format", "channels_last");
  }
};

struct AveragePooling2DConfig {
  static constexpr std::string_view kClassName = "AveragePooling2D";
  Pair pool_size = 2;
  std::optional<Pair> strides = std::nullopt;  // none: pool_size
  std::string padding = "valid";               // or "same": padding is not averaged over
  std::string name = "";
  bool trainable = true;

  static void visit(auto& self, auto&& field) {
    field("pool_size", self.pool_size);
    field("padding", self.padding);
    field("strides", self.strides);
    field.fixed("data_format", "channels_last");
  }
};

/// Largest, or mean, of each window of each channel: [rows, h, w, c] -> [rows, h', w', c], where
/// h' = ceil(h / stride) with padding "same", else (h - size) / stride + 1. Throws InvalidArgument
/// naming the layer for numbers < 1, windows that do not fit, and inputs that are no images.
LayerHandle MaxPooling2D(MaxPooling2DConfig config = {});
LayerHandle AveragePooling2D(AveragePooling2DConfig config = {});

struct GlobalMaxPooling2DConfig {
  static constexpr std::string_view kClassName = "GlobalMaxPooling2D";
  bool keepdims = false;
  std::string name = "";
  bool trainable = true;

  static void visit(auto& self, auto&& field) {
    field.fixed("data_format", "channels_last");
    field("keepdims", self.keepdims);
  }
};

struct GlobalAveragePooling2DConfig {
  static constexpr std::string_view kClassName = "GlobalAveragePooling2D";
  bool keepdims = false;
  std::string name = "";
  bool trainable = true;

  static void visit(auto& self, auto&& field) {
    field.fixed("data_format", "channels_last");
    field("keepdims", self.keepdims);
  }
};

/// Largest, or mean, of each channel: [rows, h, w, c] -> [rows, c], or [rows, 1, 1, c] with
/// keepdims. Throws InvalidArgument naming the layer for inputs that are no images.
LayerHandle GlobalMaxPooling2D(GlobalMaxPooling2DConfig config = {});
LayerHandle GlobalAveragePooling2D(GlobalAveragePooling2DConfig config = {});

}  // namespace lockstep
