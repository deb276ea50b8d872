// Layers that move elements: Flatten, Reshape, Permute, ZeroPadding2D, Cropping2D; and Rescaling.
// All but Rescaling keep the dtype.
#pragma once

#include "lockstep/nn/layer.h"

namespace lockstep {

struct FlattenConfig {
  static constexpr std::string_view kClassName = "Flatten";
  std::string name = "";
  bool trainable = true;

  static void visit(auto&, auto&& field) { field.fixed("data_format", "channels_last"); }
};

/// [rows, ...] -> [rows, n], in row-major order; [rows] -> [rows, 1].
LayerHandle Flatten(FlattenConfig config = {});

struct ReshapeConfig {
  static constexpr std::string_view kClassName = "Reshape";
  Dims target_shape = {};  // of a row; one extent may be -1
  std::string name = "";
  bool trainable = true;

  static void visit(auto& self, auto&& field) { field("target_shape", self.target_shape); }
};

/// [rows, ...] -> [rows, target_shape...], in row-major order. Throws InvalidArgument naming the
/// layer where the number of elements differs.
LayerHandle Reshape(ReshapeConfig config);

struct PermuteConfig {
  static constexpr std::string_view kClassName = "Permute";
  Dims dims = {};  // result axis i is input axis dims[i - 1]; axes counted from 1, after the batch
  std::string name = "";
  bool trainable = true;

  static void visit(auto& self, auto&& field) { field("dims", self.dims); }
};

/// Axes of a row in another order. Throws InvalidArgument naming the layer unless dims is a
/// permutation of the input's axes.
LayerHandle Permute(PermuteConfig config);

struct ZeroPadding2DConfig {
  static constexpr std::string_view kClassName = "ZeroPadding2D";
  Margins padding = 1;  // >= 0
  std::string name = "";
  bool trainable = true;

  static void visit(auto& self, auto&& field) {
    field("padding", self.padding);
    field.fixed("data_format", "channels_last");
  }
};

/// Zeros around an image: [rows, h, w, c] -> [rows, top + h + bottom, left + w + right, c].
LayerHandle ZeroPadding2D(ZeroPadding2DConfig config = {});

struct Cropping2DConfig {
  static constexpr std::string_view kClassName = "Cropping2D";
  Margins cropping = 0;  // >= 0
  std::string name = "";
  bool trainable = true;

  static void visit(auto& self, auto&& field) {
    field("cropping", self.cropping);
    field.fixed("data_format", "channels_last");
  }
};

/// An image without its margins: [rows, h, w, c] -> [rows, h - top - bottom, w - left - right, c].
/// Throws InvalidArgument naming the layer where nothing would be left.
LayerHandle Cropping2D(Cropping2DConfig config = {});

struct RescalingConfig {
  static constexpr std::string_view kClassName = "Rescaling";
  double scale = 1.0, offset = 0.0;
  std::string name = "";
  bool trainable = true;

  static void visit(auto& self, auto&& field) {
    field("scale", self.scale);
    field("offset", self.offset);
  }
};

/// x * scale + offset as float32, of x's shape.
LayerHandle Rescaling(RescalingConfig config);

}  // namespace lockstep
