// Convolutions and their input gradients where vectors hold eight floats (AVX2) and channels come
// in groups of eight. Of the multiplications such a core can do, oneDNN's kernels reach half to two
// thirds where there is a stride, these 80 to 95 %; without a stride neither is clearly ahead.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "lockstep/backend/onednn/convolution_loops.h"

namespace lockstep {

/// Both directions are one computation: each pixel of the target sums, over taps of the kernel, a
/// pixel of the source times a matrix of the kernel. A convolution's source is x and its target y;
/// an input gradient's the other way round. With a stride, neighbours in an input gradient have
/// different taps: they are computed in phases, a phase for each remainder of row and column. Taps
/// that fall outside the source are left out: a phase has regions, in each of which all pixels
/// have the same taps.
class DirectConvolution : public ConvolutionLoops {
 public:
  DirectConvolution(const ConvolutionGeometry& geometry, ConvolutionDirection direction);

  void run(const float* source, const float* kernel, const Epilogue& epilogue, float* target,
           float* scratch) const override;
  size_t scratch_bytes() const override;
  int64_t images() const override { return images_; }
  int64_t target_image() const override {
    return target_groups * target_height * target_width * kLanes;
  }
  const char* name() const override { return "direct"; }

  // What the loops read. Lengths and distances in floats unless said otherwise.

  /// Target places q * phases + phase along one axis, for q in [0, count).
  struct AxisPhase {
    /// Reads source place q * step + offset.
    struct Tap {
      int64_t index;  // in the kernel
      int64_t offset;
    };
    /// Places [begin, end), which read taps [first, last) of the phase.
    struct Segment {
      int64_t begin, end, first, last;
    };
    int64_t count;
    std::vector<Tap> taps;
    std::vector<Segment> segments;
  };
  struct Axis {
    int64_t step;
    std::vector<AxisPhase> phases;
    int64_t first, last;  // least and greatest offset of any tap
  };
  struct Region {
    int64_t row, row_end, column, column_end;
    struct Tap {
      int64_t source;  // its distance from a pixel
      int64_t panel;   // which of the panel's matrices
    };
    std::vector<Tap> taps;  // [source group of a block][tap]
  };
  struct Phase {
    int64_t row, column;
    std::vector<int64_t> taps;  // matrices of the kernel, in the order of the panel
    std::vector<Region> regions;
  };

  ConvolutionDirection direction;
  int64_t source_groups, source_height, source_width;
  int64_t target_groups, target_height, target_width;
  int64_t kernel_in, kernel_out;  // channels of x and of y
  Axis rows, columns;
  std::vector<Phase> phases;
  int64_t band_images, band_rows;  // computed at once: their sources stay in a cache
  int64_t block_groups;            // of the source, summed before the target is touched
  int64_t band_height;             // rows of the source that a band reads, at most
  bool is_copied;                  // are a band's sources copied side by side, or read in place?
  int64_t copied_floats() const {
    return is_copied ? band_images * block_groups * band_height * source_width * kLanes : 0;
  }

 private:
  int64_t images_;

  void choose_sizes();
  Phase make_phase(size_t row, size_t column, int64_t kernel_width) const;
};

}  // namespace lockstep
