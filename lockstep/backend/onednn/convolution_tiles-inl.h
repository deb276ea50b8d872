// What the loops of convolutions share: sums that stay in registers. Compiled once an instruction
// set; right only where a vector holds a group of eight channels.
#include <hwy/highway.h>

#include "lockstep/backend/onednn/convolution_loops.h"

// highway's guard: once for each instruction set that foreach_target.h goes through.
#if defined(LOCKSTEP_CONVOLUTION_TILES_INL_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef LOCKSTEP_CONVOLUTION_TILES_INL_H_
#undef LOCKSTEP_CONVOLUTION_TILES_INL_H_
#else
#define LOCKSTEP_CONVOLUTION_TILES_INL_H_
#endif

HWY_BEFORE_NAMESPACE();
namespace lockstep {
namespace HWY_NAMESPACE {
namespace {
namespace hn = hwy::HWY_NAMESPACE;

using D = hn::CappedTag<float, kLanes>;
using V = hn::Vec<D>;

/// Makes a loaded vector stay in its register. Compilers otherwise load it again for each of its
/// uses, and these loops have no loads to spare.
HWY_INLINE void Keep(V& v) {
#if HWY_ARCH_X86
  asm("" : "+x"(v.raw));
#else
  (void)v;
#endif
}

/// total[r][n] += from[r][at] * the n-th vector of `row`.
template <int64_t R, int64_t N>
HWY_INLINE void AddProducts(const float* const (&from)[R], int64_t at,
                            const float* HWY_RESTRICT row, V (&total)[R][N]) {
  const D d;
  // The fewer operands wait in registers while the others pass through one.
  if constexpr (R < N) {
    V value[R];
    for (int64_t r = 0; r < R; ++r) {
      value[r] = hn::Set(d, from[r][at]);
      Keep(value[r]);
    }
    for (int64_t n = 0; n < N; ++n) {
      V factor = hn::LoadU(d, row + n * kLanes);
      Keep(factor);
      for (int64_t r = 0; r < R; ++r) total[r][n] = hn::MulAdd(value[r], factor, total[r][n]);
    }
  } else {
    V factor[N];
    for (int64_t n = 0; n < N; ++n) {
      factor[n] = hn::LoadU(d, row + n * kLanes);
      Keep(factor[n]);
    }
    for (int64_t r = 0; r < R; ++r) {
      V value = hn::Set(d, from[r][at]);
      Keep(value);
      for (int64_t n = 0; n < N; ++n) total[r][n] = hn::MulAdd(value, factor[n], total[r][n]);
    }
  }
}

/// By two vectors of cotangents: 12 sums and 3 operands in 16 registers, and fewer loads than
/// multiplications.
constexpr int64_t kOuterElements = 6;

/// How far apart in memory images, rows and pixels are, in floats.
struct OuterSteps {
  int64_t x_image, x_row, x_pixel;
  int64_t dy_image, dy_group;
};

/// tile[R][16] += sum over the block's pixels of x[offsets[r]] * dy, N groups of dy.
template <int64_t R, int64_t N>
HWY_INLINE void AddOuterProducts(const PixelBlock& block, const OuterSteps& steps,
                                 const int64_t* HWY_RESTRICT offsets, const float* HWY_RESTRICT x,
                                 const float* HWY_RESTRICT dy, float* HWY_RESTRICT tile) {
  const D d;
  V total[R][N];
  for (auto& row : total)
    for (V& v : row) v = hn::Zero(d);
  for (int64_t image = 0; image < block.images; ++image)
    for (int64_t row = 0; row < block.rows; ++row) {
      const float* first = x + image * steps.x_image + row * steps.x_row;
      const float* elements[R];
      for (int64_t r = 0; r < R; ++r) elements[r] = first + offsets[r];
      const float* from = dy + image * steps.dy_image + row * block.columns * kLanes;
      const float* end = from + block.columns * kLanes;
      for (int64_t at = 0; from != end; from += kLanes, at += steps.x_pixel) {
        V cotangent[N];
        for (int64_t n = 0; n < N; ++n) cotangent[n] = hn::LoadU(d, from + n * steps.dy_group);
        for (int64_t r = 0; r < R; ++r) {
          const V value = hn::Set(d, elements[r][at]);
          for (int64_t n = 0; n < N; ++n)
            total[r][n] = hn::MulAdd(value, cotangent[n], total[r][n]);
        }
      }
    }
  for (int64_t r = 0; r < R; ++r)
    for (int64_t n = 0; n < N; ++n) {
      float* to = tile + (r * kOuterGroups + n) * kLanes;
      hn::StoreU(hn::Add(hn::LoadU(d, to), total[r][n]), d, to);
    }
}

/// The same for `elements` offsets, in runs of nearly equal length.
template <int64_t N>
void AddAllOuterProducts(const PixelBlock& block, const OuterSteps& steps, const int64_t* offsets,
                         int64_t elements, const float* x, const float* dy, float* tile) {
  const int64_t runs = (elements + kOuterElements - 1) / kOuterElements;
  for (int64_t run = 0; run < runs; ++run) {
    const int64_t begin = run * elements / runs, end = (run + 1) * elements / runs;
    const int64_t* from = offsets + begin;
    float* to = tile + begin * kOuterGroups * kLanes;
    switch (end - begin) {
      case 6:
        AddOuterProducts<6, N>(block, steps, from, x, dy, to);
        break;
      case 5:
        AddOuterProducts<5, N>(block, steps, from, x, dy, to);
        break;
      case 4:
        AddOuterProducts<4, N>(block, steps, from, x, dy, to);
        break;
      case 3:
        AddOuterProducts<3, N>(block, steps, from, x, dy, to);
        break;
      case 2:
        AddOuterProducts<2, N>(block, steps, from, x, dy, to);
        break;
      default:
        AddOuterProducts<1, N>(block, steps, from, x, dy, to);
    }
  }
}

/// to[c][n] = from[n][c], eight by eight; rows `from_step` and `to_step` apart.
HWY_INLINE void Transpose(const float* HWY_RESTRICT from, int64_t from_step, float* HWY_RESTRICT to,
                          int64_t to_step) {
  const D d;
  const hn::Repartition<double, D> pairs;
  V quarters[2][4];  // of rows 0-3 and 4-7, columns c and c + 4 of each
  for (int64_t half = 0; half < 2; ++half) {
    V row[4];
    for (int64_t n = 0; n < 4; ++n) row[n] = hn::LoadU(d, from + (half * 4 + n) * from_step);
    for (int64_t upper = 0; upper < 2; ++upper) {
      const V first =
          upper ? hn::InterleaveUpper(d, row[0], row[1]) : hn::InterleaveLower(d, row[0], row[1]);
      const V second =
          upper ? hn::InterleaveUpper(d, row[2], row[3]) : hn::InterleaveLower(d, row[2], row[3]);
      const auto a = hn::BitCast(pairs, first), b = hn::BitCast(pairs, second);
      quarters[half][upper * 2] = hn::BitCast(d, hn::InterleaveLower(pairs, a, b));
      quarters[half][upper * 2 + 1] = hn::BitCast(d, hn::InterleaveUpper(pairs, a, b));
    }
  }
  for (int64_t c = 0; c < 4; ++c) {
    hn::StoreU(hn::ConcatLowerLower(d, quarters[1][c], quarters[0][c]), d, to + c * to_step);
    hn::StoreU(hn::ConcatUpperUpper(d, quarters[1][c], quarters[0][c]), d, to + (c + 4) * to_step);
  }
}

}  // namespace
}  // namespace HWY_NAMESPACE
}  // namespace lockstep
HWY_AFTER_NAMESPACE();

#endif  // per-target include guard
