// PNG images, written by libpng.
#pragma once

#include <cstdint>
#include <span>

#include "lockstep/formats/files.h"

namespace lockstep {

/// `pixels` is [height, width, channels] in row-major order; channels 1 (grey) or 3 (RGB). Throws
/// InvalidArgument for other channels, an empty image, or pixels of another number.
Bytes write_png(std::span<const uint8_t> pixels, int64_t height, int64_t width, int64_t channels);

}  // namespace lockstep
