#include "lockstep/backend/onednn/winograd.h"

#include <hwy/cache_control.h>

#include <algorithm>
#include <numeric>

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "lockstep/backend/onednn/winograd.cpp"
#include <hwy/foreach_target.h>
#include "lockstep/backend/onednn/convolution_tiles-inl.h"
// After highway.h: what follows is compiled once an instruction set.

#ifndef LOCKSTEP_WINOGRAD_CONSTANTS
#define LOCKSTEP_WINOGRAD_CONSTANTS
namespace lockstep {
namespace {

constexpr int64_t kPlaces = 16;
// Matrices of places begin this much further apart than they are long, in floats: with lengths a
// power of two they would compete for the same lines of a cache.
constexpr int64_t kGap = 16;

/// Tiles whose products with N groups are in registers together.
constexpr int64_t tiles_of(int64_t groups) {
  return 12 / groups;
}
// A multiple of each: blocks are whole numbers of registers' tiles.
constexpr int64_t kTileStep = 12;

}  // namespace
}  // namespace lockstep
#endif

HWY_BEFORE_NAMESPACE();
namespace lockstep {
namespace HWY_NAMESPACE {
namespace {

/// The first pixel that a tile stands for.
struct Corner {
  int64_t image, row, column;
};
Corner corner_of(const WinogradTiles& tiles, int64_t tile) {
  const int64_t image = tile / tiles.of_image(), rest = tile % tiles.of_image();
  return {image, rest / tiles.columns * 2, rest % tiles.columns * 2};
}
void advance(const WinogradTiles& tiles, Corner& corner) {
  corner.column += 2;
  if (corner.column < 2 * tiles.columns) return;
  corner.column = 0;
  corner.row += 2;
  if (corner.row < 2 * tiles.rows) return;
  corner.row = 0;
  ++corner.image;
}

/// One group of an image; pixels outside are zero.
struct Plane {
  const float* pixels;
  int64_t height, width;

  template <bool kIsInside>
  HWY_INLINE V at(int64_t row, int64_t column) const {
    const D d;
    if (!kIsInside && (row < 0 || row >= height || column < 0 || column >= width))
      return hn::Zero(d);
    return hn::LoadU(d, pixels + (row * width + column) * kLanes);
  }
  bool holds(int64_t row, int64_t column, int64_t size) const {
    return row >= 0 && row + size <= height && column >= 0 && column + size <= width;
  }
};

/// Of source pixels d [4][4] from (row, column) on: B' d B, place p at to + p * step.
template <bool kIsInside>
HWY_INLINE void TransformSource(const Plane& plane, int64_t row, int64_t column, float* to,
                                int64_t step) {
  const D d;
  V half[4][4];
  for (int64_t j = 0; j < 4; ++j) {
    V x[4];
    for (int64_t i = 0; i < 4; ++i) x[i] = plane.at<kIsInside>(row + i, column + j);
    half[0][j] = hn::Sub(x[0], x[2]);
    half[1][j] = hn::Add(x[1], x[2]);
    half[2][j] = hn::Sub(x[2], x[1]);
    half[3][j] = hn::Sub(x[1], x[3]);
  }
  for (int64_t i = 0; i < 4; ++i, to += 4 * step) {
    hn::StoreU(hn::Sub(half[i][0], half[i][2]), d, to);
    hn::StoreU(hn::Add(half[i][1], half[i][2]), d, to + step);
    hn::StoreU(hn::Sub(half[i][2], half[i][1]), d, to + 2 * step);
    hn::StoreU(hn::Sub(half[i][1], half[i][3]), d, to + 3 * step);
  }
}

/// Of cotangents e [2][2]: A e A', place p at to + p * step. Yields their sum.
template <bool kIsInside>
HWY_INLINE V TransformCotangent(const Plane& plane, int64_t row, int64_t column, float* to,
                                int64_t step) {
  const D d;
  V half[4][2];
  for (int64_t j = 0; j < 2; ++j) {
    const V e0 = plane.at<kIsInside>(row, column + j),
            e1 = plane.at<kIsInside>(row + 1, column + j);
    half[0][j] = e0;
    half[1][j] = hn::Add(e0, e1);
    half[2][j] = hn::Sub(e0, e1);
    half[3][j] = hn::Neg(e1);
  }
  for (int64_t i = 0; i < 4; ++i, to += 4 * step) {
    hn::StoreU(half[i][0], d, to);
    hn::StoreU(hn::Add(half[i][0], half[i][1]), d, to + step);
    hn::StoreU(hn::Sub(half[i][0], half[i][1]), d, to + 2 * step);
    hn::StoreU(hn::Neg(half[i][1]), d, to + 3 * step);
  }
  return hn::Add(half[1][0], half[1][1]);
}

/// Of taps g [3][3], `tap_step` apart: G g G', place p at to + p * step.
HWY_INLINE void TransformKernel(const float* kernel, int64_t tap_step, float* to, int64_t step) {
  const D d;
  const V half_of = hn::Set(d, 0.5f);
  const auto transform = [&](V g0, V g1, V g2, V* u) {
    const V outer = hn::Mul(half_of, hn::Add(g0, g2)), middle = hn::Mul(half_of, g1);
    u[0] = g0;
    u[1] = hn::Add(outer, middle);
    u[2] = hn::Sub(outer, middle);
    u[3] = g2;
  };
  V columns[3][4];
  for (int64_t j = 0; j < 3; ++j)
    transform(hn::LoadU(d, kernel + j * tap_step), hn::LoadU(d, kernel + (3 + j) * tap_step),
              hn::LoadU(d, kernel + (6 + j) * tap_step), columns[j]);
  for (int64_t i = 0; i < 4; ++i, to += 4 * step) {
    V u[4];
    transform(columns[0][i], columns[1][i], columns[2][i], u);
    for (int64_t j = 0; j < 4; ++j) hn::StoreU(u[j], d, to + j * step);
  }
}

/// Of products m [4][4], place p at from + p * step: y = A' m A + bias.
HWY_INLINE void TransformProducts(const float* from, int64_t step, V bias, V (&y)[2][2]) {
  const D d;
  V half[2][4];
  for (int64_t j = 0; j < 4; ++j) {
    const V m0 = hn::LoadU(d, from + j * step), m1 = hn::LoadU(d, from + (4 + j) * step),
            m2 = hn::LoadU(d, from + (8 + j) * step), m3 = hn::LoadU(d, from + (12 + j) * step);
    half[0][j] = hn::Add(m0, hn::Add(m1, m2));
    half[1][j] = hn::Sub(hn::Sub(m1, m2), m3);
  }
  for (int64_t i = 0; i < 2; ++i) {
    y[i][0] = hn::Add(hn::Add(half[i][0], bias), hn::Add(half[i][1], half[i][2]));
    y[i][1] = hn::Add(hn::Sub(hn::Sub(half[i][1], half[i][2]), half[i][3]), bias);
  }
}

/// Of sums q [4][4], place p at from + p * step: G' q G, taps `tap_step` apart.
HWY_INLINE void TransformKernelSums(const float* from, int64_t step, float* to, int64_t tap_step) {
  const D d;
  const V half_of = hn::Set(d, 0.5f);
  const auto transform = [&](V q0, V q1, V q2, V q3, V* g) {
    const V sum = hn::Mul(half_of, hn::Add(q1, q2));
    g[0] = hn::Add(q0, sum);
    g[1] = hn::Mul(half_of, hn::Sub(q1, q2));
    g[2] = hn::Add(q3, sum);
  };
  V columns[4][3];
  for (int64_t j = 0; j < 4; ++j)
    transform(hn::LoadU(d, from + j * step), hn::LoadU(d, from + (4 + j) * step),
              hn::LoadU(d, from + (8 + j) * step), hn::LoadU(d, from + (12 + j) * step),
              columns[j]);
  for (int64_t i = 0; i < 3; ++i) {
    V g[3];
    transform(columns[0][i], columns[1][i], columns[2][i], columns[3][i], g);
    for (int64_t j = 0; j < 3; ++j) hn::StoreU(g[j], d, to + (i * 3 + j) * tap_step);
  }
}

/// Images that tiles are read from.
struct SourceImages {
  const float* pixels;
  int64_t groups, height, width;  // of an image
  int64_t top, left;              // rows and columns from the first tile's begin to the image's
};

/// Tiles [first, end) of some groups to [place][tile][groups * 8]; those up to a multiple of
/// kTileStep are zero.
void TransformSources(const SourceImages& s, const WinogradTiles& tiles, int64_t first, int64_t end,
                      int64_t group, int64_t groups, int64_t step, float* to) {
  const int64_t plane = s.height * s.width * kLanes, width = groups * kLanes;
  Corner corner = corner_of(tiles, first);
  float* at = to;
  for (int64_t tile = first; tile < end; ++tile, advance(tiles, corner)) {
    const int64_t row = corner.row - s.top, column = corner.column - s.left;
    Plane from{s.pixels + (corner.image * s.groups + group) * plane, s.height, s.width};
    if (from.holds(row, column, 4)) {
      for (int64_t g = 0; g < groups; ++g, at += kLanes, from.pixels += plane) {
        // What the tiles below read first: it comes from far.
        const float* below = from.pixels + ((row + 4) * s.width + column + 2) * kLanes;
        hwy::Prefetch(below);
        hwy::Prefetch(below + s.width * kLanes);
        TransformSource<true>(from, row, column, at, step);
      }
    } else {
      for (int64_t g = 0; g < groups; ++g, at += kLanes, from.pixels += plane)
        TransformSource<false>(from, row, column, at, step);
    }
  }
  const int64_t count = end - first, padded = (count + kTileStep - 1) / kTileStep * kTileStep;
  for (int64_t p = 0; p < kPlaces; ++p)
    std::fill_n(to + p * step + count * width, (padded - count) * width, 0.0f);
}

/// The kernel, transformed, for the loops: for each panel of N groups of the target [place][channel
/// of the source][N * 8].
void PackKernel(const WinogradConvolution& k, const float* kernel, float* packed) {
  const int64_t in = k.source_groups * kLanes, out = k.target_groups * kLanes;
  const bool is_forward = k.direction == ConvolutionDirection::kForward;
  alignas(64) float square[kPlaces * kLanes * kLanes];
  for (int64_t group = 0; group < k.target_groups;) {
    const int64_t groups = panel_groups(group, k.target_groups), width = groups * kLanes,
                  place = in * width;
    for (int64_t c = 0; c < in; c += kLanes)
      for (int64_t n = 0; n < groups; ++n) {
        float* to = packed + c * width + n * kLanes;
        if (is_forward) {
          for (int64_t i = 0; i < kLanes; ++i)
            TransformKernel(kernel + (c + i) * out + (group + n) * kLanes, in * out, to + i * width,
                            place);
          continue;
        }
        for (int64_t i = 0; i < kLanes; ++i)
          TransformKernel(kernel + ((group + n) * kLanes + i) * in + c, in * out,
                          square + i * kLanes, kLanes * kLanes);
        // The kernel turned: its outer places change sides, and so do source and target.
        constexpr int64_t kTurned[] = {3, 1, 2, 0};
        for (int64_t p = 0; p < kPlaces; ++p)
          Transpose(square + (kTurned[p / 4] * 4 + kTurned[p % 4]) * kLanes * kLanes, kLanes,
                    to + p * place, width);
      }
    packed += kPlaces * place;
    group += groups;
  }
}

/// products [tiles][N * 8] = tiles [tiles][depth] * panel [depth][N * 8].
template <int64_t N>
HWY_NOINLINE void MultiplyTiles(const float* HWY_RESTRICT tiles, int64_t count, int64_t depth,
                                const float* HWY_RESTRICT panel, float* HWY_RESTRICT products) {
  constexpr int64_t kTiles = tiles_of(N);
  const D d;
  for (int64_t t = 0; t < count; t += kTiles) {
    V total[kTiles][N];
    const float* from[kTiles];
    for (int64_t r = 0; r < kTiles; ++r) {
      from[r] = tiles + (t + r) * depth;
      for (V& v : total[r]) v = hn::Zero(d);
    }
    const float* row = panel;
    for (int64_t c = 0; c < depth; c += kLanes)
      for (int64_t i = 0; i < kLanes; ++i, row += N * kLanes) AddProducts(from, c + i, row, total);
    for (int64_t r = 0; r < kTiles; ++r)
      for (int64_t n = 0; n < N; ++n)
        hn::StoreU(total[r][n], d, products + ((t + r) * N + n) * kLanes);
  }
}

/// Pixels of tiles [first, end) of one group, whose products are at [place][tile][width].
void WriteTarget(const WinogradConvolution& k, int64_t first, int64_t end, const float* products,
                 int64_t width, int64_t step, int64_t group, const float* bias, float* target) {
  const D d;
  const V start = bias == nullptr ? hn::Zero(d) : hn::LoadU(d, bias + group * kLanes);
  const int64_t row = k.target_width * kLanes, plane = k.target_height * row;
  Corner corner = corner_of(k.tiles, first);
  for (int64_t tile = first; tile < end; ++tile, products += width, advance(k.tiles, corner)) {
    V y[2][2];
    TransformProducts(products, step, start, y);
    float* to = target + (corner.image * k.target_groups + group) * plane + corner.row * row +
                corner.column * kLanes;
    hwy::Prefetch(to + 2 * row);
    hwy::Prefetch(to + 3 * row);
    const bool has_right = corner.column + 1 < k.target_width;
    hn::StoreU(y[0][0], d, to);
    if (has_right) hn::StoreU(y[0][1], d, to + kLanes);
    if (corner.row + 1 == k.target_height) continue;
    hn::StoreU(y[1][0], d, to + row);
    if (has_right) hn::StoreU(y[1][1], d, to + row + kLanes);
  }
}

void RunConvolution(const WinogradConvolution& k, const float* source, const float* kernel,
                    const ConvolutionLoops::Epilogue& epilogue, float* target, float* scratch) {
  const int64_t depth = k.source_groups * kLanes, all = k.tiles.images * k.tiles.of_image(),
                image = k.target_image();
  const int64_t source_step = k.block * depth + kGap;
  float *sources = scratch, *products = sources + kPlaces * source_step,
        *packed = products + kPlaces * (k.block * kMaxGroups * kLanes + kGap);
  PackKernel(k, kernel, packed);
  const SourceImages images{source,         k.source_groups, k.source_height,
                            k.source_width, k.pad_top,       k.pad_left};
  int64_t done = 0;  // images
  for (int64_t first = 0; first < all; first += k.block) {
    const int64_t end = std::min(first + k.block, all);
    TransformSources(images, k.tiles, first, end, 0, k.source_groups, source_step, sources);
    const float* panel = packed;
    for (int64_t group = 0; group < k.target_groups;) {
      const int64_t groups = panel_groups(group, k.target_groups), width = groups * kLanes,
                    step = k.block * width + kGap;
      const auto multiply = groups == 4   ? MultiplyTiles<4>
                            : groups == 3 ? MultiplyTiles<3>
                            : groups == 2 ? MultiplyTiles<2>
                                          : MultiplyTiles<1>;
      for (int64_t p = 0; p < kPlaces; ++p, panel += depth * width)
        multiply(sources + p * source_step, end - first, depth, panel, products + p * step);
      for (int64_t n = 0; n < groups; ++n)
        WriteTarget(k, first, end, products + n * kLanes, width, step, group + n, epilogue.bias,
                    target);
      group += groups;
    }
    const int64_t whole = end / k.tiles.of_image();
    if (whole == done) continue;
    if (epilogue.activation != nullptr) {
      const void* operand = target + done * image;
      epilogue.activation(epilogue.params, &operand, target + done * image,
                          static_cast<size_t>((whole - done) * image));
    }
    epilogue.completed(done * image, whole * image);
    done = whole;
  }
}

/// Some groups of the kernel's gradient: from groups [in, in_end) of x and [out, out_end) of dy.
struct Part {
  int64_t in, in_end, out, out_end;
};

/// Cotangents of one group, [place][tile][8]. Adds their sum to dbias where that is not null.
void TransformCotangents(const WinogradKernelGradient& k, const float* dy, int64_t group,
                         int64_t first, int64_t end, int64_t step, float* to, float* dbias) {
  const D d;
  const int64_t plane = k.s.out_height * k.s.out_width * kLanes;
  Corner corner = corner_of(k.tiles, first);
  V sum = hn::Zero(d);
  for (int64_t tile = first; tile < end; ++tile, to += kLanes, advance(k.tiles, corner)) {
    const Plane from{dy + (corner.image * k.s.out_groups + group) * plane, k.s.out_height,
                     k.s.out_width};
    const float* below = from.pixels + ((corner.row + 2) * from.width + corner.column) * kLanes;
    hwy::Prefetch(below);
    hwy::Prefetch(below + from.width * kLanes);
    const V e = from.holds(corner.row, corner.column, 2)
                    ? TransformCotangent<true>(from, corner.row, corner.column, to, step)
                    : TransformCotangent<false>(from, corner.row, corner.column, to, step);
    sum = hn::Add(sum, e);
  }
  if (dbias == nullptr) return;
  float* total = dbias + group * kLanes;
  hn::StoreU(hn::Add(hn::LoadU(d, total), sum), d, total);
}

void RunPart(const WinogradKernelGradient& k, const Part& part, const float* x, const float* dy,
             float* dkernel, float* dbias, float* scratch) {
  const ConvolutionGeometry& s = k.s;
  const int64_t width = (part.in_end - part.in) * kLanes, all = k.tiles.images * k.tiles.of_image();
  const int64_t source_step = k.block * width + kGap, group_step = k.block * kLanes,
                cotangent_step = kOuterGroups * group_step + kGap;
  const int64_t pairs = (part.out_end - part.out + kOuterGroups - 1) / kOuterGroups,
                tile = width * kOuterGroups * kLanes, sum_step = pairs * tile;
  float *sources = scratch, *cotangents = sources + kPlaces * source_step,
        *sums = cotangents + kPlaces * cotangent_step;
  std::fill_n(sums, kPlaces * sum_step, 0.0f);
  const SourceImages images{x, s.in_groups, s.height, s.width, s.pad_low[0], s.pad_low[1]};
  const OuterSteps steps{0, 0, width, 0, group_step};
  for (int64_t first = 0; first < all; first += k.block) {
    const int64_t end = std::min(first + k.block, all);
    TransformSources(images, k.tiles, first, end, part.in, part.in_end - part.in, source_step,
                     sources);
    for (int64_t g = part.out; g < part.out_end; g += kOuterGroups) {
      const int64_t groups = std::min(kOuterGroups, part.out_end - g);
      for (int64_t n = 0; n < groups; ++n)
        TransformCotangents(k, dy, g + n, first, end, cotangent_step, cotangents + n * group_step,
                            dbias);
      const auto add = groups == 2 ? AddAllOuterProducts<2> : AddAllOuterProducts<1>;
      float* to = sums + (g - part.out) / kOuterGroups * tile;
      for (int64_t p = 0; p < kPlaces; ++p, to += sum_step)
        add({1, 1, end - first}, steps, k.channels.data(), width, sources + p * source_step,
            cotangents + p * cotangent_step, to);
    }
  }
  const int64_t out = s.out_groups * kLanes, matrix = s.in_groups * kLanes * out;
  for (int64_t g = part.out; g < part.out_end; ++g)
    for (int64_t c = 0; c < width; ++c)
      TransformKernelSums(sums + (g - part.out) / kOuterGroups * tile +
                              (c * kOuterGroups + (g - part.out) % kOuterGroups) * kLanes,
                          sum_step, dkernel + (part.in * kLanes + c) * out + g * kLanes, matrix);
}

void RunKernelGradient(const WinogradKernelGradient& k, const float* x, const float* dy,
                       float* dkernel, float* dbias, float* scratch) {
  const ConvolutionGeometry& s = k.s;
  if (dbias != nullptr) std::fill_n(dbias, s.out_groups * kLanes, 0.0f);
  for (int64_t out = 0; out < s.out_groups; out += k.out_block)
    for (int64_t in = 0; in < s.in_groups; in += k.in_block)
      RunPart(k,
              {in, std::min(in + k.in_block, s.in_groups), out,
               std::min(out + k.out_block, s.out_groups)},
              x, dy, dkernel, in == 0 ? dbias : nullptr, scratch);
}

}  // namespace
}  // namespace HWY_NAMESPACE
}  // namespace lockstep
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace lockstep {

HWY_EXPORT(RunConvolution);
HWY_EXPORT(RunKernelGradient);

namespace {

// In floats, of a second-level cache of 512 KB: what one block's transforms may fill.
constexpr int64_t kSecondCache = 256 * 1024 / sizeof(float);
// Tiles of a block. Fewer would read kernels and sums from far too often.
constexpr int64_t kMinBlock = 2 * kTileStep, kMaxBlock = 4 * kTileStep;

/// As many tiles as fit the cache with `floats` each; where that is too few, more than fit.
int64_t block_of(int64_t floats) {
  const int64_t fitting = kSecondCache / floats / kTileStep * kTileStep;
  return fitting < kMinBlock ? kMaxBlock : std::min(fitting, kMaxBlock);
}

// Of an image.
constexpr int64_t kMinTiles = 16;

WinogradTiles tiles_of_target(int64_t images, int64_t height, int64_t width) {
  return {images, (height + 1) / 2, (width + 1) / 2};
}

}  // namespace

bool is_winograd_worthwhile(const ConvolutionGeometry& g) {
  const std::array<int64_t, 2> ones{1, 1};
  if (g.kernel_height != 3 || g.kernel_width != 3 || g.strides != ones || g.dilation != ones ||
      g.in_block != kLanes)
    return false;
  // Against 9 multiplications a pixel, with a quarter more for the transforms of tiles. That of the
  // kernel is not worth its time for a few tiles, and a batch may be one image.
  const WinogradTiles tiles = tiles_of_target(1, g.out_height, g.out_width);
  return tiles.of_image() >= kMinTiles &&
         tiles.of_image() * kPlaces * 5 <= g.out_height * g.out_width * 9 * 4;
}

WinogradConvolution::WinogradConvolution(const ConvolutionGeometry& g,
                                         ConvolutionDirection direction)
    : direction(direction) {
  const bool is_forward = direction == ConvolutionDirection::kForward;
  source_groups = is_forward ? g.in_groups : g.out_groups;
  source_height = is_forward ? g.height : g.out_height;
  source_width = is_forward ? g.width : g.out_width;
  target_groups = is_forward ? g.out_groups : g.in_groups;
  target_height = is_forward ? g.out_height : g.height;
  target_width = is_forward ? g.out_width : g.width;
  pad_top = is_forward ? g.pad_low[0] : 2 - g.pad_low[0];
  pad_left = is_forward ? g.pad_low[1] : 2 - g.pad_low[1];
  tiles = tiles_of_target(g.images, target_height, target_width);
  block = block_of(kPlaces * (source_groups + kMaxGroups) * kLanes);
}

size_t WinogradConvolution::scratch_bytes() const {
  const int64_t depth = source_groups * kLanes;
  return static_cast<size_t>(kPlaces * (block * depth + kGap + block * kMaxGroups * kLanes + kGap +
                                        depth * target_groups * kLanes)) *
         sizeof(float);
}

void WinogradConvolution::run(const float* source, const float* kernel, const Epilogue& epilogue,
                              float* target, float* scratch) const {
  HWY_DYNAMIC_DISPATCH(RunConvolution)(*this, source, kernel, epilogue, target, scratch);
}

WinogradKernelGradient::WinogradKernelGradient(const ConvolutionGeometry& g)
    : s(g), tiles(tiles_of_target(g.images, g.out_height, g.out_width)) {
  in_block = even_part(s.in_groups, 8);
  out_block = even_part(s.out_groups, 8);
  out_block = std::min((out_block + kOuterGroups - 1) / kOuterGroups * kOuterGroups, s.out_groups);
  channels.resize(static_cast<size_t>(in_block * kLanes));
  std::iota(channels.begin(), channels.end(), int64_t{0});
  block = block_of(kPlaces * (in_block + kOuterGroups) * kLanes);
}

size_t WinogradKernelGradient::scratch_bytes() const {
  const int64_t pairs = (out_block + kOuterGroups - 1) / kOuterGroups;
  return static_cast<size_t>(kPlaces * (block * (in_block + kOuterGroups) * kLanes + 2 * kGap +
                                        pairs * in_block * kLanes * kOuterGroups * kLanes)) *
         sizeof(float);
}

void WinogradKernelGradient::run(const float* x, const float* dy, float* dkernel, float* dbias,
                                 float* scratch) const {
  HWY_DYNAMIC_DISPATCH(RunKernelGradient)(*this, x, dy, dkernel, dbias, scratch);
}

}  // namespace lockstep
#endif  // HWY_ONCE
