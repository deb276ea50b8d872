// Where the windows of convolutions and pooling lie on an image.
#pragma once

#include <array>
#include <string>

#include "lockstep/nn/layer.h"

namespace lockstep {

struct WindowPadding {
  std::array<int64_t, 2> low{0, 0}, high{0, 0};
};

/// Throws InvalidArgument naming the layer unless both are > 0.
void check_positive(const Layer& layer, std::string_view field, const Pair& value);

/// Throws InvalidArgument naming the layer unless it is "valid" or "same".
void check_padding(const Layer& layer, const std::string& padding);

/// Zeros around an image [rows, height, width, channels]: none for "valid"; for "same" as many as
/// make ceil(extent / stride) windows, the odd one after the image, as TensorFlow does.
/// `window` is the extent a window spans, dilation included. Throws InvalidArgument naming the
/// layer where no window fits.
WindowPadding window_padding(const Layer& layer, const Shape& image, const std::string& padding,
                             const Pair& window, const Pair& strides);

}  // namespace lockstep
