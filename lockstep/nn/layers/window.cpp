#include "lockstep/nn/layers/window.h"

#include <algorithm>

namespace lockstep {

void check_positive(const Layer& layer, std::string_view field, const Pair& value) {
  if (value.height < 1 || value.width < 1)
    invalid_argument(layer.label(), "`{}` must be > 0: ({}, {})", field, value.height, value.width);
}

void check_padding(const Layer& layer, const std::string& padding) {
  if (padding == "causal") unsupported(layer.label(), "unsupported `padding` \"causal\"");
  if (padding != "valid" && padding != "same")
    invalid_argument(layer.label(), "`padding` must be \"valid\" or \"same\": \"{}\"", padding);
}

WindowPadding window_padding(const Layer& layer, const Shape& image, const std::string& padding,
                             const Pair& window, const Pair& strides) {
  const std::array windows{window.height, window.width}, steps{strides.height, strides.width};
  WindowPadding result;
  for (int i = 0; i < 2; ++i) {
    const int64_t extent = image[i + 1];
    if (padding == "same") {
      const int64_t count = (extent + steps[i] - 1) / steps[i];
      const int64_t total = std::max<int64_t>((count - 1) * steps[i] + windows[i] - extent, 0);
      result.low[i] = total / 2;
      result.high[i] = total - total / 2;
    } else if (extent < windows[i]) {
      invalid_argument(layer.label(),
                       "a window of {}x{} must fit into the image: {} came. Use "
                       "padding=\"same\" or a smaller window",
                       window.height, window.width, image.str());
    }
  }
  return result;
}

}  // namespace lockstep
