// Enlarging images [rows, height, width, channels].
#pragma once

#include "lockstep/nn/layer.h"

namespace lockstep {

struct UpSampling2DConfig {
  static constexpr std::string_view kClassName = "UpSampling2D";
  Pair size = 2;                          // > 0: factors of height and width
  std::string interpolation = "nearest";  // or "bilinear"
  std::string name = "";
  bool trainable = true;

  static void visit(auto& self, auto&& field) {
    field("size", self.size);
    field.fixed("data_format", "channels_last");
    field("interpolation", self.interpolation);
  }
};

/// [rows, h, w, c] -> [rows, h * size, w * size, c]. "nearest" repeats pixels and keeps the dtype;
/// "bilinear" interpolates between pixels' centres, the outermost pixels going on beyond the edges.
/// Throws InvalidArgument naming the layer for sizes < 1, Unsupported for other interpolations.
LayerHandle UpSampling2D(UpSampling2DConfig config = {});

}  // namespace lockstep
