#include "lockstep/formats/png.h"

#include <png.h>

namespace lockstep {

Bytes write_png(std::span<const uint8_t> pixels, int64_t height, int64_t width, int64_t channels) {
  if (channels != 1 && channels != 3)
    invalid_argument("png", "an image has 1 or 3 channels: {} came", channels);
  if (height < 1 || width < 1 || static_cast<int64_t>(pixels.size()) != height * width * channels)
    invalid_argument("png", "{} x {} pixels of {} channels need as many bytes: {} came", height,
                     width, channels, pixels.size());
  png_image image{};
  image.version = PNG_IMAGE_VERSION;
  image.width = static_cast<png_uint_32>(width);
  image.height = static_cast<png_uint_32>(height);
  image.format = channels == 1 ? PNG_FORMAT_GRAY : PNG_FORMAT_RGB;
  Bytes bytes(PNG_IMAGE_PNG_SIZE_MAX(image), '\0');
  png_alloc_size_t size = bytes.size();
  if (png_image_write_to_memory(&image, bytes.data(), &size, 0, pixels.data(), 0, nullptr) == 0)
    fail(ErrorCode::kInternal, "png", "could not be written: {}", image.message);
  bytes.resize(size);
  return bytes;
}

}  // namespace lockstep
