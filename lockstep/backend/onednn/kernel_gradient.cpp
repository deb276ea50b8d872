#include "lockstep/backend/onednn/kernel_gradient.h"

#include <algorithm>

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "lockstep/backend/onednn/kernel_gradient.cpp"
#include <hwy/foreach_target.h>
#include <hwy/highway.h>
// After highway.h: what follows is compiled once an instruction set.

#ifndef LOCKSTEP_KERNEL_GRADIENT_CONSTANTS
#define LOCKSTEP_KERNEL_GRADIENT_CONSTANTS
namespace lockstep {
namespace {

// Two vectors of dy by six broadcast elements of x: 12 sums and 3 operands in 16 registers, and
// fewer loads than multiplications.
constexpr int64_t kElements = 6, kVectors = 2;
constexpr int64_t kOut = KernelGradient::kOutBlock;

}  // namespace
}  // namespace lockstep
#endif

HWY_BEFORE_NAMESPACE();
namespace lockstep {
namespace HWY_NAMESPACE {
namespace {
namespace hn = hwy::HWY_NAMESPACE;

// The loops are right only where a vector holds a group of dy.
using D = hn::CappedTag<float, kOut>;
using V = hn::Vec<D>;

/// How far apart in memory images, rows and pixels are, in floats.
struct Steps {
  int64_t x_image, x_row, x_pixel;
  int64_t dy_image, dy_group;
};

/// tile[R][16] += sum over the block's pixels of x[offsets[r]] * dy, N groups of dy.
template <int64_t R, int64_t N>
HWY_INLINE void AddProducts(const KernelGradient::Block& block, const Steps& steps,
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
      const float* from = dy + image * steps.dy_image + row * block.columns * kOut;
      const float* end = from + block.columns * kOut;
      for (int64_t at = 0; from != end; from += kOut, at += steps.x_pixel) {
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
      float* to = tile + (r * kVectors + n) * kOut;
      hn::StoreU(hn::Add(hn::LoadU(d, to), total[r][n]), d, to);
    }
}

/// The same for all elements of a group's kernel, in runs of nearly equal length.
template <int64_t N>
void AddAllProducts(const KernelGradient& k, const KernelGradient::Block& block, const Steps& steps,
                    const float* x, const float* dy, float* tile) {
  const auto elements = static_cast<int64_t>(k.offsets.size());
  const int64_t runs = (elements + kElements - 1) / kElements;
  for (int64_t run = 0; run < runs; ++run) {
    const int64_t begin = run * elements / runs, end = (run + 1) * elements / runs;
    const int64_t* offsets = k.offsets.data() + begin;
    float* to = tile + begin * kVectors * kOut;
    switch (end - begin) {
      case 6:
        AddProducts<6, N>(block, steps, offsets, x, dy, to);
        break;
      case 5:
        AddProducts<5, N>(block, steps, offsets, x, dy, to);
        break;
      case 4:
        AddProducts<4, N>(block, steps, offsets, x, dy, to);
        break;
      case 3:
        AddProducts<3, N>(block, steps, offsets, x, dy, to);
        break;
      case 2:
        AddProducts<2, N>(block, steps, offsets, x, dy, to);
        break;
      default:
        AddProducts<1, N>(block, steps, offsets, x, dy, to);
    }
  }
}

/// dbias[8] += the sum of one group of dy over a batch of images and all pixels.
void SumGroup(const KernelGradient& k, int64_t images, const float* dy, float* dbias) {
  const D d;
  const int64_t pixels = k.s.out_height * k.s.out_width;
  V sum = hn::LoadU(d, dbias);
  for (int64_t n = 0; n < images; ++n, dy += k.s.out_groups * pixels * kOut) {
    V total[4] = {hn::Zero(d), hn::Zero(d), hn::Zero(d), hn::Zero(d)};
    int64_t i = 0;
    for (; i + 4 <= pixels; i += 4)
      for (int64_t j = 0; j < 4; ++j)
        total[j] = hn::Add(total[j], hn::LoadU(d, dy + (i + j) * kOut));
    for (; i < pixels; ++i) total[0] = hn::Add(total[0], hn::LoadU(d, dy + i * kOut));
    sum = hn::Add(sum, hn::Add(hn::Add(total[0], total[1]), hn::Add(total[2], total[3])));
  }
  hn::StoreU(sum, d, dbias);
}

/// One group of a batch's images into the middle of `padded`, whose margins stay as they are.
void PadGroup(const KernelGradient& k, int64_t images, const float* x, float* padded) {
  const ConvolutionGeometry& s = k.s;
  const int64_t row = s.width * s.in_block, padded_row = k.padded_width * s.in_block;
  for (int64_t n = 0; n < images; ++n)
    for (int64_t h = 0; h < s.height; ++h)
      std::copy_n(x + n * s.in_groups * s.height * row + h * row, row,
                  padded + (n * k.padded_height + s.pad_low[0] + h) * padded_row +
                      s.pad_low[1] * s.in_block);
}

/// Sums of one group of x by one or two of dy over a batch of images.
void FillTile(const KernelGradient& k, int64_t images, int64_t groups, const Steps& steps,
              const float* x, const float* dy, float* tile) {
  const int64_t out_row = k.s.out_width * kOut;
  for (int64_t n = 0; n < images; n += k.block.images)
    for (int64_t h = 0; h < k.s.out_height; h += k.block.rows) {
      const KernelGradient::Block block{std::min(k.block.images, images - n),
                                        std::min(k.block.rows, k.s.out_height - h), k.s.out_width};
      const float* from = x + n * steps.x_image + h * steps.x_row;
      const float* cotangent = dy + n * steps.dy_image + h * out_row;
      groups == 2 ? AddAllProducts<2>(k, block, steps, from, cotangent, tile)
                  : AddAllProducts<1>(k, block, steps, from, cotangent, tile);
    }
}

void Run(const KernelGradient& k, const float* x, const float* dy, float* dkernel, float* dbias,
         float* scratch) {
  const ConvolutionGeometry& s = k.s;
  const int64_t out_channels = s.out_groups * kOut, out_pixels = s.out_height * s.out_width * kOut,
                x_group = s.height * s.width * s.in_block, x_image = s.in_groups * x_group,
                padded_row = k.padded_width * s.in_block,
                padded_image = k.padded_height * padded_row;
  const auto elements = static_cast<int64_t>(k.offsets.size());
  const Steps steps{k.is_padded ? padded_image : x_image, padded_row * s.strides[0],
                    s.in_block * s.strides[1], s.out_groups * out_pixels, out_pixels};
  float *tile = scratch, *padded = tile + elements * kVectors * kOut;
  if (k.is_padded) std::fill_n(padded, k.batch * padded_image, 0.0f);
  if (dbias != nullptr) std::fill_n(dbias, out_channels, 0.0f);
  for (int64_t n = 0; n < s.images; n += k.batch) {
    const int64_t images = std::min(k.batch, s.images - n);
    const float* cotangent = dy + n * steps.dy_image;
    if (dbias != nullptr)
      for (int64_t g = 0; g < s.out_groups; ++g)
        SumGroup(k, images, cotangent + g * out_pixels, dbias + g * kOut);
    for (int64_t c = 0; c < s.in_groups; ++c) {
      const float* from = x + n * x_image + c * x_group;
      if (k.is_padded) {
        PadGroup(k, images, from, padded);
        from = padded;
      }
      for (int64_t g = 0; g < s.out_groups; g += kVectors) {
        const int64_t groups = std::min(kVectors, s.out_groups - g);
        std::fill_n(tile, elements * kVectors * kOut, 0.0f);
        FillTile(k, images, groups, steps, from, cotangent + g * out_pixels, tile);
        for (int64_t e = 0; e < elements; ++e) {
          const float* sums = tile + e * kVectors * kOut;
          float* to =
              dkernel + (k.rows[static_cast<size_t>(e)] + c * s.in_block) * out_channels + g * kOut;
          for (int64_t i = 0; i < groups * kOut; ++i) to[i] = n == 0 ? sums[i] : to[i] + sums[i];
        }
      }
    }
  }
}

}  // namespace
}  // namespace HWY_NAMESPACE
}  // namespace lockstep
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace lockstep {

HWY_EXPORT(Run);

namespace {

// In floats: what is counted on of a first-level cache of 32 KB and a second-level one of 512 KB
// or more, other data and a second thread on the core being there too.
constexpr int64_t kFirstCache = 20 * 1024 / sizeof(float);
constexpr int64_t kSecondCache = 192 * 1024 / sizeof(float);
// Of a batch, at least: sums in dkernel are read and written once a batch.
constexpr int64_t kPixels = 1024;

}  // namespace

KernelGradient::KernelGradient(const ConvolutionGeometry& shapes) : s(shapes) {
  is_padded = s.pad_low[0] + s.pad_low[1] + s.pad_high[0] + s.pad_high[1] > 0;
  padded_height = s.height + s.pad_low[0] + s.pad_high[0];
  padded_width = s.width + s.pad_low[1] + s.pad_high[1];
  for (int64_t kh = 0; kh < s.kernel_height; ++kh)
    for (int64_t kw = 0; kw < s.kernel_width; ++kw)
      for (int64_t c = 0; c < s.in_block; ++c) {
        offsets.push_back((kh * s.dilation[0] * padded_width + kw * s.dilation[1]) * s.in_block +
                          c);
        rows.push_back((kh * s.kernel_width + kw) * s.in_groups * s.in_block + c);
      }
  const int64_t padded_row = padded_width * s.in_block, padded_image = padded_height * padded_row;
  const int64_t pixels = s.out_height * s.out_width;
  const int64_t all_groups = s.in_groups * padded_image + s.out_groups * pixels * kOut;
  batch = std::clamp(std::max(kSecondCache / all_groups, kPixels / pixels), int64_t{1}, s.images);
  const int64_t row = padded_row * s.strides[0] + s.out_width * kVectors * kOut;
  const int64_t image = padded_image + pixels * kVectors * kOut;
  block = {even_part(batch, kFirstCache / image),
           image <= kFirstCache ? s.out_height : even_part(s.out_height, kFirstCache / row),
           s.out_width};
}

size_t KernelGradient::scratch_bytes() const {
  const int64_t tile = static_cast<int64_t>(offsets.size()) * kVectors * kOut;
  const int64_t padded = is_padded ? batch * padded_height * padded_width * s.in_block : 0;
  return static_cast<size_t>(tile + padded) * sizeof(float);
}

void KernelGradient::run(const float* x, const float* dy, float* dkernel, float* dbias,
                         float* scratch) const {
  HWY_DYNAMIC_DISPATCH(Run)(*this, x, dy, dkernel, dbias, scratch);
}

}  // namespace lockstep
#endif  // HWY_ONCE
