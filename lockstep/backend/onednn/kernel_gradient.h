// The kernel gradient of a convolution where vectors hold eight floats (AVX2): oneDNN's takes
// 1.1 to 2 times as long there, and has only plain loops for dilated kernels.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "lockstep/backend/onednn/convolution_loops.h"

namespace lockstep {

class KernelGradient : public KernelGradientLoops {
 public:
  explicit KernelGradient(const ConvolutionGeometry& shapes);

  void run(const float* x, const float* dy, float* dkernel, float* dbias,
           float* scratch) const override;
  size_t scratch_bytes() const override;
  const char* name() const override { return "direct"; }

  // What the loops read, in units of elements.
  ConvolutionGeometry s;
  bool is_padded;
  int64_t padded_height, padded_width;
  // Of each element (kh, kw, c) of one group's kernel: where its first pixel lies in a padded
  // image, and its row in dkernel.
  std::vector<int64_t> offsets, rows;
  int64_t batch;     // images that go through all groups before the next do: they stay in a cache
  PixelBlock block;  // the most that is summed at once: it stays in the first-level cache
};

}  // namespace lockstep
