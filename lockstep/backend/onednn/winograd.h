// 3x3 convolutions of stride 1 by Winograd's minimal filtering F(2x2, 3x3) (Lavin and Gray, "Fast
// Algorithms for Convolutional Neural Networks", 2016), where vectors hold eight floats (AVX2) and
// channels come in groups of eight.
//
// Tiles of 2x2 pixels of the target come from 4x4 of the source. Both tiles and kernels are
// transformed by additions and halvings to 16 places; at each place tiles times kernels is a matrix
// product over channels; its results are transformed back. That takes 16 multiplications where
// sums over taps take 36. All in f32. Sums are over channels alone: against double, on normally
// distributed data, a convolution's errors are 0.47 to 0.75 times those of sums over taps (root mean
// square, 16 to 256 channels). They are relative to the largest pixel of a tile, and a pixel that is
// not finite makes its tile not a number.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "lockstep/backend/onednn/convolution_loops.h"

namespace lockstep {

/// Are there loops here for this, and do they multiply enough less to be worth their transforms?
/// Decided by an image alone, whatever the number of images.
bool is_winograd_worthwhile(const ConvolutionGeometry& geometry);

/// Images cut into tiles; a tile's index counts columns, then rows, then images.
struct WinogradTiles {
  int64_t images, rows, columns;
  int64_t of_image() const { return rows * columns; }
};

/// A convolution or its input gradient, which is the convolution of dy by the turned kernel.
class WinogradConvolution : public ConvolutionLoops {
 public:
  WinogradConvolution(const ConvolutionGeometry& geometry, ConvolutionDirection direction);
  size_t scratch_bytes() const override;
  void run(const float* source, const float* kernel, const Epilogue& epilogue, float* target,
           float* scratch) const override;
  const char* name() const override { return "winograd"; }
  int64_t images() const override { return tiles.images; }
  int64_t target_image() const override {
    return target_groups * target_height * target_width * kLanes;
  }

  // What the loops read.
  ConvolutionDirection direction;
  int64_t source_groups, source_height, source_width;
  int64_t target_groups, target_height, target_width;
  int64_t pad_top, pad_left;  // of the source
  WinogradTiles tiles;
  int64_t block;  // tiles that are transformed at once: they stay in a cache
};

/// The kernel gradient.
class WinogradKernelGradient : public KernelGradientLoops {
 public:
  explicit WinogradKernelGradient(const ConvolutionGeometry& geometry);
  size_t scratch_bytes() const override;
  void run(const float* x, const float* dy, float* dkernel, float* dbias,
           float* scratch) const override;
  const char* name() const override { return "winograd"; }

  // What the loops read.
  ConvolutionGeometry s;
  WinogradTiles tiles;
  int64_t block;                  // tiles that are transformed at once
  int64_t in_block, out_block;    // groups whose sums are together in a cache
  std::vector<int64_t> channels;  // 0, 1, ... of a block of x
};

}  // namespace lockstep
