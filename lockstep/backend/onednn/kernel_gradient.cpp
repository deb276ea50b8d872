#include "lockstep/backend/onednn/kernel_gradient.h"

#include <algorithm>

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "lockstep/backend/onednn/kernel_gradient.cpp"
#include <hwy/foreach_target.h>
#include "lockstep/backend/onednn/convolution_tiles-inl.h"
// After highway.h: what follows is compiled once an instruction set.

HWY_BEFORE_NAMESPACE();
namespace lockstep {
namespace HWY_NAMESPACE {
namespace {

/// dbias[8] += the sum of one group of dy over a batch of images and all pixels.
void SumGroup(const KernelGradient& k, int64_t images, const float* dy, float* dbias) {
  const D d;
  const int64_t pixels = k.s.out_height * k.s.out_width;
  V sum = hn::LoadU(d, dbias);
  for (int64_t n = 0; n < images; ++n, dy += k.s.out_groups * pixels * kLanes) {
    V total[4] = {hn::Zero(d), hn::Zero(d), hn::Zero(d), hn::Zero(d)};
    int64_t i = 0;
    for (; i + 4 <= pixels; i += 4)
      for (int64_t j = 0; j < 4; ++j)
        total[j] = hn::Add(total[j], hn::LoadU(d, dy + (i + j) * kLanes));
    for (; i < pixels; ++i) total[0] = hn::Add(total[0], hn::LoadU(d, dy + i * kLanes));
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
void FillTile(const KernelGradient& k, int64_t images, int64_t groups, const OuterSteps& steps,
              const float* x, const float* dy, float* tile) {
  const int64_t out_row = k.s.out_width * kLanes;
  for (int64_t n = 0; n < images; n += k.block.images)
    for (int64_t h = 0; h < k.s.out_height; h += k.block.rows) {
      const PixelBlock block{std::min(k.block.images, images - n),
                             std::min(k.block.rows, k.s.out_height - h), k.s.out_width};
      const float* from = x + n * steps.x_image + h * steps.x_row;
      const float* cotangent = dy + n * steps.dy_image + h * out_row;
      const auto add = groups == 2 ? AddAllOuterProducts<2> : AddAllOuterProducts<1>;
      add(block, steps, k.offsets.data(), static_cast<int64_t>(k.offsets.size()), from, cotangent,
          tile);
    }
}

void Run(const KernelGradient& k, const float* x, const float* dy, float* dkernel, float* dbias,
         float* scratch) {
  const ConvolutionGeometry& s = k.s;
  const int64_t out_channels = s.out_groups * kLanes,
                out_pixels = s.out_height * s.out_width * kLanes,
                x_group = s.height * s.width * s.in_block, x_image = s.in_groups * x_group,
                padded_row = k.padded_width * s.in_block,
                padded_image = k.padded_height * padded_row;
  const auto elements = static_cast<int64_t>(k.offsets.size());
  const OuterSteps steps{k.is_padded ? padded_image : x_image, padded_row * s.strides[0],
                         s.in_block * s.strides[1], s.out_groups * out_pixels, out_pixels};
  float *tile = scratch, *padded = tile + elements * kOuterGroups * kLanes;
  if (k.is_padded) std::fill_n(padded, k.batch * padded_image, 0.0f);
  if (dbias != nullptr) std::fill_n(dbias, out_channels, 0.0f);
  for (int64_t n = 0; n < s.images; n += k.batch) {
    const int64_t images = std::min(k.batch, s.images - n);
    const float* cotangent = dy + n * steps.dy_image;
    if (dbias != nullptr)
      for (int64_t g = 0; g < s.out_groups; ++g)
        SumGroup(k, images, cotangent + g * out_pixels, dbias + g * kLanes);
    for (int64_t c = 0; c < s.in_groups; ++c) {
      const float* from = x + n * x_image + c * x_group;
      if (k.is_padded) {
        PadGroup(k, images, from, padded);
        from = padded;
      }
      for (int64_t g = 0; g < s.out_groups; g += kOuterGroups) {
        const int64_t groups = std::min(kOuterGroups, s.out_groups - g);
        std::fill_n(tile, elements * kOuterGroups * kLanes, 0.0f);
        FillTile(k, images, groups, steps, from, cotangent + g * out_pixels, tile);
        for (int64_t e = 0; e < elements; ++e) {
          const float* sums = tile + e * kOuterGroups * kLanes;
          float* to = dkernel + (k.rows[static_cast<size_t>(e)] + c * s.in_block) * out_channels +
                      g * kLanes;
          for (int64_t i = 0; i < groups * kLanes; ++i) to[i] = n == 0 ? sums[i] : to[i] + sums[i];
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
  const int64_t all_groups = s.in_groups * padded_image + s.out_groups * pixels * kLanes;
  batch = std::clamp(std::max(kSecondCache / all_groups, kPixels / pixels), int64_t{1}, s.images);
  const int64_t row = padded_row * s.strides[0] + s.out_width * kOuterGroups * kLanes;
  const int64_t image = padded_image + pixels * kOuterGroups * kLanes;
  block = {even_part(batch, kFirstCache / image),
           image <= kFirstCache ? s.out_height : even_part(s.out_height, kFirstCache / row),
           s.out_width};
}

size_t KernelGradient::scratch_bytes() const {
  const int64_t tile = static_cast<int64_t>(offsets.size()) * kOuterGroups * kLanes;
  const int64_t padded = is_padded ? batch * padded_height * padded_width * s.in_block : 0;
  return static_cast<size_t>(tile + padded) * sizeof(float);
}

void KernelGradient::run(const float* x, const float* dy, float* dkernel, float* dbias,
                         float* scratch) const {
  HWY_DYNAMIC_DISPATCH(Run)(*this, x, dy, dkernel, dbias, scratch);
}

}  // namespace lockstep
#endif  // HWY_ONCE
