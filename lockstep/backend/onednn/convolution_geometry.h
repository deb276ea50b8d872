// What a convolution between blocked images is made of, for the loops of our own.
#pragma once

#include <algorithm>
#include <array>
#include <cstdint>

namespace lockstep {

/// Images x [images, in_groups, height, width, in_block], their convolution
/// y [images, out_groups, out_height, out_width, 8] and a kernel
/// [kernel_height, kernel_width, in_groups * in_block, out_groups * 8].
struct ConvolutionGeometry {
  int64_t images;
  int64_t in_groups, height, width, in_block;
  int64_t out_groups, out_height, out_width;
  int64_t kernel_height, kernel_width;
  std::array<int64_t, 2> strides, dilation, pad_low, pad_high;
};

/// The size of equal parts of `whole` that are at most `limit`, or 1.
inline int64_t even_part(int64_t whole, int64_t limit) {
  const int64_t most = std::max(limit, int64_t{1}), parts = (whole + most - 1) / most;
  return (whole + parts - 1) / parts;
}

}  // namespace lockstep
