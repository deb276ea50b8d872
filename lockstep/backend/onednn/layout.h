// The two orders in which images lie in memory: row-major NHWC, and blocked, where channels go in
// groups of `block` (nChw8c, nChw16c), which convolution kernels like better.
#pragma once

#include <cstddef>
#include <cstdint>

#include "lockstep/tensor/shape.h"

namespace lockstep {

/// Row-major where `block` is 0. Else memory holds [images, channels / block, pixels, block] of
/// what is logically [images, pixels, channels]: a 4-D image, its flattened rows, or a mask of one
/// bit an element.
struct Layout {
  int64_t images = 0, pixels = 0, channels = 0, block = 0;

  bool is_row_major() const { return block == 0; }
  /// Elements that lie side by side in both orders.
  int64_t groups() const { return channels / block; }
  bool operator==(const Layout&) const = default;
};

/// Channels in a group on this machine: those of one vector of the convolution kernels.
int64_t native_block();

/// Images in groups of `block` channels (0: row-major).
Layout image_layout(const Shape& nhwc, int64_t block);

/// Copies a tensor of `bytes` between row-major order and `layout`.
void reorder(const Layout& layout, bool to_row_major, size_t bytes, const std::byte* from,
             std::byte* to);

}  // namespace lockstep
