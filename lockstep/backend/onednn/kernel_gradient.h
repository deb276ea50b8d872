// The kernel gradient of a convolution where vectors hold eight floats (AVX2): oneDNN's takes
// 1.1 to 2 times as long there, and has only plain loops for dilated kernels.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "lockstep/backend/onednn/convolution_geometry.h"

namespace lockstep {

/// The work laid out once; run by any number of threads.
class KernelGradient {
 public:
  static constexpr int64_t kOutBlock = 8;  // channels in a group of dy

  explicit KernelGradient(const ConvolutionGeometry& shapes);

  size_t scratch_bytes() const;

  /// dkernel [kernel_height, kernel_width, in_groups * in_block, out_groups * 8]; dbias, where it
  /// is not null, [out_groups * 8], the sum of dy over images and pixels.
  void run(const float* x, const float* dy, float* dkernel, float* dbias, float* scratch) const;

  /// Pixels of dy that are summed in registers before memory is touched.
  struct Block {
    int64_t images, rows, columns;
  };

  // What the loops read, in units of elements.
  ConvolutionGeometry s;
  bool is_padded;
  int64_t padded_height, padded_width;
  // Of each element (kh, kw, c) of one group's kernel: where its first pixel lies in a padded
  // image, and its row in dkernel.
  std::vector<int64_t> offsets, rows;
  int64_t batch;  // images that go through all groups before the next do: they stay in a cache
  Block block;    // the most that is summed at once: it stays in the first-level cache
};

}  // namespace lockstep
