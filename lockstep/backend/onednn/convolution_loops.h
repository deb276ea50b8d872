// Convolutions and their gradients between blocked images, in loops of our own.
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <functional>

#include "lockstep/backend/onednn/pointwise_kernels.h"

namespace lockstep {

/// Channels in a group of a blocked image: the floats of a vector.
inline constexpr int64_t kLanes = 8;

/// Images x [images, in_groups, height, width, in_block], their convolution
/// y [images, out_groups, out_height, out_width, kLanes] and a kernel
/// [kernel_height, kernel_width, in_groups * in_block, out_groups * kLanes].
struct ConvolutionGeometry {
  int64_t images;
  int64_t in_groups, height, width, in_block;
  int64_t out_groups, out_height, out_width;
  int64_t kernel_height, kernel_width;
  std::array<int64_t, 2> strides, dilation, pad_low, pad_high;
};

/// From x to y, or from y's cotangents to x's. In both an image is contracted from one image alone:
/// from a source to a target.
enum class ConvolutionDirection { kForward, kInputGradient };

/// One way to compute one of the two. Laid out once; run by any number of threads.
class ConvolutionLoops {
 public:
  virtual ~ConvolutionLoops() = default;

  /// What happens to a sum before it is written: its channel's bias, and a function of one operand.
  struct Epilogue {
    /// Called when elements [first, end) of the target are done: whole images.
    const std::function<void(int64_t first, int64_t end)>& completed;
    const float* bias = nullptr;  // [channels of the target]
    PointFn activation = nullptr;
    const float* params = nullptr;
  };
  virtual void run(const float* source, const float* kernel, const Epilogue& epilogue,
                   float* target, float* scratch) const = 0;
  virtual size_t scratch_bytes() const = 0;
  virtual int64_t images() const = 0;
  virtual int64_t target_image() const = 0;  // floats of one
  /// "winograd"
  virtual const char* name() const = 0;
};

/// One way to compute the kernel's gradient. Laid out once; run by any number of threads.
class KernelGradientLoops {
 public:
  virtual ~KernelGradientLoops() = default;

  /// dkernel like the kernel; dbias, where it is not null, [out_groups * kLanes], the sum of dy
  /// over images and pixels.
  virtual void run(const float* x, const float* dy, float* dkernel, float* dbias,
                   float* scratch) const = 0;
  virtual size_t scratch_bytes() const = 0;
  virtual const char* name() const = 0;
};

/// Groups of the target that a convolution computes together, at most: N vectors of sums for a
/// pixel.
inline constexpr int64_t kMaxGroups = 4;
/// Of `groups`, those computed together from `group` on.
inline int64_t panel_groups(int64_t group, int64_t groups) {
  const int64_t left = groups - group;
  // Three and two: a single group makes poor use of what is loaded.
  return left == kMaxGroups + 1 ? 3 : std::min(kMaxGroups, left);
}

/// Groups of dy that kernel gradients sum together.
inline constexpr int64_t kOuterGroups = 2;
/// Pixels of dy that a kernel gradient sums in registers before memory is touched.
struct PixelBlock {
  int64_t images, rows, columns;
};

/// The size of equal parts of `whole` that are at most `limit`, or 1.
inline int64_t even_part(int64_t whole, int64_t limit) {
  const int64_t most = std::max(limit, int64_t{1}), parts = (whole + most - 1) / most;
  return (whole + parts - 1) / parts;
}

}  // namespace lockstep
