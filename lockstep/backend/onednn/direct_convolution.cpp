#include "lockstep/backend/onednn/direct_convolution.h"

#include <algorithm>
#include <numeric>

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "lockstep/backend/onednn/direct_convolution.cpp"
#include <hwy/foreach_target.h>
#include "lockstep/backend/onednn/convolution_tiles-inl.h"
// After highway.h: what follows is compiled once an instruction set.

#ifndef LOCKSTEP_DIRECT_CONVOLUTION_CONSTANTS
#define LOCKSTEP_DIRECT_CONVOLUTION_CONSTANTS
namespace lockstep {
namespace {

/// Pixels whose sums are in registers together with those of N groups: at most 12 vectors, with
/// the operands 16, and few enough loads for each multiplication.
constexpr int64_t pixels_of(int64_t groups) {
  return groups == 4 ? 3 : groups == 1 ? 8 : 4;
}

}  // namespace
}  // namespace lockstep
#endif

HWY_BEFORE_NAMESPACE();
namespace lockstep {
namespace HWY_NAMESPACE {
namespace {

using Region = DirectConvolution::Region;

/// Where the sums of N groups begin.
struct Sums {
  const float* start;  // [N * 8] biases; null: with what the target holds
  int64_t group;       // distance of groups in the target
};

/// Images of a band, and how far apart they, places of a row and places of a column lie.
struct Walk {
  int64_t images, block_groups;
  int64_t source_image, source_row, source_column;
  int64_t target_image, target_row, target_column;
};

/// target[R pixels][N groups] = start + sum over taps and 8 channels of source * panel.
template <int64_t R, int64_t N>
HWY_NOINLINE void AddTaps(const float* const* source, const Region::Tap* taps, int64_t count,
                          const float* HWY_RESTRICT panel, const Sums& sums, float* const* target) {
  const D d;
  V total[R][N];
  const float* from[R];
  for (int64_t r = 0; r < R; ++r) {
    from[r] = source[r];
    for (int64_t n = 0; n < N; ++n)
      total[r][n] = hn::LoadU(
          d, sums.start != nullptr ? sums.start + n * kLanes : target[r] + n * sums.group);
  }
  for (const Region::Tap* tap = taps; tap != taps + count; ++tap) {
    const int64_t offset = tap->source;
    const float* matrix = panel + tap->panel * kLanes * N * kLanes;
    for (int64_t c = 0; c < kLanes; ++c, matrix += N * kLanes)
      AddProducts(from, offset + c, matrix, total);
  }
  for (int64_t r = 0; r < R; ++r)
    for (int64_t n = 0; n < N; ++n) hn::StoreU(total[r][n], d, target[r] + n * sums.group);
}

/// The same for all pixels of `region` in rows [begin, end) of a band's images. `source` and
/// `target` point at the pixels of place 0, 0.
template <int64_t N>
void AddRegion(const Walk& walk, const Region& region, int64_t begin, int64_t end,
               const float* source, int64_t groups, const float* panel, const Sums& sums,
               float* target) {
  constexpr int64_t kPixels = pixels_of(N);
  const auto taps = static_cast<int64_t>(region.taps.size()) / walk.block_groups * groups;
  const float* from[kPixels];
  float* to[kPixels];
  int64_t filled = 0;
  for (int64_t image = 0; image < walk.images; ++image)
    for (int64_t row = begin; row < end; ++row)
      for (int64_t column = region.column; column < region.column_end; ++column) {
        from[filled] = source + image * walk.source_image + row * walk.source_row +
                       column * walk.source_column;
        to[filled] = target + image * walk.target_image + row * walk.target_row +
                     column * walk.target_column;
        if (++filled < kPixels) continue;
        AddTaps<kPixels, N>(from, region.taps.data(), taps, panel, sums, to);
        filled = 0;
      }
  for (int64_t p = 0; p < filled; ++p)
    AddTaps<1, N>(from + p, region.taps.data(), taps, panel, sums, to + p);
}

/// The part of the kernel for some groups of source and target: [source group][tap][8][groups * 8].
void PackPanel(const DirectConvolution& k, const DirectConvolution::Phase& phase,
               const float* kernel, int64_t source_group, int64_t source_groups,
               int64_t target_group, int64_t target_groups, float* panel) {
  const int64_t width = target_groups * kLanes, matrix = k.kernel_in * k.kernel_out;
  for (int64_t g = source_group; g < source_group + source_groups; ++g)
    for (const int64_t tap : phase.taps) {
      const float* from = kernel + tap * matrix;
      if (k.direction == ConvolutionDirection::kForward) {
        from += g * kLanes * k.kernel_out + target_group * kLanes;
        for (int64_t c = 0; c < kLanes; ++c)
          std::copy_n(from + c * k.kernel_out, width, panel + c * width);
      } else {
        from += target_group * kLanes * k.kernel_out + g * kLanes;
        for (int64_t n = 0; n < target_groups; ++n)
          Transpose(from + n * kLanes * k.kernel_out, k.kernel_out, panel + n * kLanes, width);
      }
      panel += kLanes * width;
    }
}

/// Rows [first, last) of some groups of a band's images, side by side.
void CopyBand(const DirectConvolution& k, const Walk& walk, const float* source, int64_t groups,
              int64_t first, int64_t last, float* band) {
  const int64_t row = k.source_width * kLanes, plane = k.source_height * row;
  if (first >= last) return;
  for (int64_t i = 0; i < walk.images; ++i)
    for (int64_t g = 0; g < groups; ++g)
      std::copy_n(source + (i * k.source_groups + g) * plane + first * row, (last - first) * row,
                  band + i * walk.source_image + g * k.band_height * row);
}

/// The epilogue's function over rows of some images.
void Activate(const DirectConvolution& k, const ConvolutionLoops::Epilogue& epilogue,
              int64_t images, int64_t rows, float* target) {
  const int64_t plane = k.target_height * k.target_width * kLanes;
  for (int64_t i = 0; i < images * k.target_groups; ++i) {
    float* y = target + i * plane;
    const void* operand = y;
    epilogue.activation(epilogue.params, &operand, y,
                        static_cast<size_t>(rows * k.target_width * kLanes));
  }
}

void Run(const DirectConvolution& k, const float* source, const float* kernel,
         const ConvolutionLoops::Epilogue& epilogue, float* target, float* scratch) {
  const auto row_phases = static_cast<int64_t>(k.rows.phases.size()),
             column_phases = static_cast<int64_t>(k.columns.phases.size());
  const int64_t places = k.rows.phases.front().count, source_row = k.source_width * kLanes,
                source_plane = k.source_height * source_row, target_row = k.target_width * kLanes,
                target_plane = k.target_height * target_row,
                band_plane = k.band_height * source_row;
  alignas(32) static constexpr float kZeros[kMaxGroups * kLanes] = {};
  Walk walk{.images = 0,
            .block_groups = k.block_groups,
            .source_image = (k.is_copied ? k.block_groups : k.source_groups) * band_plane,
            .source_row = k.rows.step * source_row,
            .source_column = k.columns.step * kLanes,
            .target_image = k.target_image(),
            .target_row = row_phases * target_row,
            .target_column = column_phases * kLanes};
  float *band = scratch, *panel = band + k.copied_floats();
  for (int64_t image = 0; image < k.images(); image += k.band_images)
    for (int64_t q = 0; q < places; q += k.band_rows) {
      walk.images = std::min(k.band_images, k.images() - image);
      const int64_t q_end = std::min(q + k.band_rows, places);
      const int64_t first = std::max(q * k.rows.step + k.rows.first, int64_t{0});
      const int64_t last = std::min((q_end - 1) * k.rows.step + k.rows.last + 1, k.source_height);
      for (int64_t g = 0; g < k.source_groups; g += k.block_groups) {
        const int64_t groups = std::min(k.block_groups, k.source_groups - g);
        const float* from = source + ((image * k.source_groups) + g) * source_plane;
        if (k.is_copied) {
          CopyBand(k, walk, from, groups, first, last, band);
          from = band - first * source_row;
        }
        for (const DirectConvolution::Phase& phase : k.phases)
          for (int64_t t = 0; t < k.target_groups;) {
            const int64_t n = panel_groups(t, k.target_groups);
            PackPanel(k, phase, kernel, g, groups, t, n, panel);
            const float* bias = epilogue.bias == nullptr ? kZeros : epilogue.bias + t * kLanes;
            const Sums sums{g == 0 ? bias : nullptr, target_plane};
            float* to = target + image * walk.target_image + t * target_plane +
                        phase.row * target_row + phase.column * kLanes;
            for (const Region& region : phase.regions) {
              const int64_t begin = std::max(q, region.row), end = std::min(q_end, region.row_end);
              const auto add = n == 4   ? AddRegion<4>
                               : n == 3 ? AddRegion<3>
                               : n == 2 ? AddRegion<2>
                                        : AddRegion<1>;
              add(walk, region, begin, end, from, groups, panel, sums, to);
            }
            t += n;
          }
      }
      if (epilogue.activation != nullptr)
        Activate(k, epilogue, walk.images, q_end - q,
                 target + image * walk.target_image + q * target_row);
      if (q_end == places)
        epilogue.completed(image * walk.target_image, (image + walk.images) * walk.target_image);
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

using Axis = DirectConvolution::Axis;
using AxisPhase = DirectConvolution::AxisPhase;

// In floats: the panel of a block's kernel stays in a first-level cache of 32 KB, a band's
// sources and the sums of four groups in a second-level one of 512 KB.
constexpr int64_t kPanelRows = 144;
constexpr int64_t kSecondCache = 320 * 1024 / sizeof(float);
// Of it, what a set of eight lines repeats after.
constexpr int64_t kCacheWay = 64 * 1024 / sizeof(float);
// Of a band and phase, at most: more do not make the packing of panels any cheaper.
constexpr int64_t kPixels = 4096;

/// Do the sources of a band, read where they are, compete for few places of a cache? Images lie a
/// multiple of a large power of two apart where sizes are such.
bool sources_collide(int64_t images, int64_t groups, int64_t all_groups, int64_t plane) {
  const int64_t apart = std::gcd(all_groups * plane, kCacheWay), places = kCacheWay / apart;
  const int64_t shared = std::max(images / places, images * groups * plane / kCacheWay);
  return shared > 4;
}

/// Runs of places that read the same taps: those whose source places exist.
std::vector<AxisPhase::Segment> make_segments(const AxisPhase& phase, int64_t step,
                                              int64_t source_size) {
  std::vector<AxisPhase::Segment> segments;
  for (int64_t q = 0; q < phase.count; ++q) {
    // Offsets rise or fall from tap to tap: those that exist are neighbours.
    int64_t first = 0, last = 0;
    for (size_t t = 0; t < phase.taps.size(); ++t) {
      const int64_t at = q * step + phase.taps[t].offset;
      if (at < 0 || at >= source_size) continue;
      if (first == last) first = static_cast<int64_t>(t);
      last = static_cast<int64_t>(t) + 1;
    }
    if (segments.empty() || segments.back().first != first || segments.back().last != last)
      segments.push_back({q, q, first, last});
    segments.back().end = q + 1;
  }
  return segments;
}

Axis make_axis(const ConvolutionGeometry& g, size_t i, ConvolutionDirection direction) {
  const bool is_forward = direction == ConvolutionDirection::kForward, is_row = i == 0;
  const int64_t x = is_row ? g.height : g.width, y = is_row ? g.out_height : g.out_width,
                taps = is_row ? g.kernel_height : g.kernel_width;
  const int64_t stride = g.strides[i], dilation = g.dilation[i], pad = g.pad_low[i];
  const int64_t phases = is_forward ? 1 : stride, target = is_forward ? y : x;
  Axis axis{.step = is_forward ? stride : 1, .phases = {}, .first = x + y, .last = -x - y};
  for (int64_t p = 0; p < phases; ++p) {
    AxisPhase phase{.count = std::max((target - p + phases - 1) / phases, int64_t{0}),
                    .taps = {},
                    .segments = {}};
    for (int64_t t = 0; t < taps; ++t) {
      const int64_t at = is_forward ? t * dilation - pad : p + pad - t * dilation;
      if (at % phases != 0) continue;
      phase.taps.push_back({t, at / phases});
      axis.first = std::min(axis.first, at / phases);
      axis.last = std::max(axis.last, at / phases);
    }
    phase.segments = make_segments(phase, axis.step, is_forward ? x : y);
    axis.phases.push_back(std::move(phase));
  }
  return axis;
}

}  // namespace

DirectConvolution::DirectConvolution(const ConvolutionGeometry& g, ConvolutionDirection direction)
    : direction(direction), images_(g.images) {
  const bool is_forward = direction == ConvolutionDirection::kForward;
  source_groups = is_forward ? g.in_groups : g.out_groups;
  source_height = is_forward ? g.height : g.out_height;
  source_width = is_forward ? g.width : g.out_width;
  target_groups = is_forward ? g.out_groups : g.in_groups;
  target_height = is_forward ? g.out_height : g.height;
  target_width = is_forward ? g.out_width : g.width;
  kernel_in = g.in_groups * kLanes;
  kernel_out = g.out_groups * kLanes;
  rows = make_axis(g, 0, direction);
  columns = make_axis(g, 1, direction);
  choose_sizes();
  for (size_t row = 0; row < rows.phases.size(); ++row)
    for (size_t column = 0; column < columns.phases.size(); ++column)
      phases.push_back(make_phase(row, column, g.kernel_width));
}

/// How much is computed at once.
void DirectConvolution::choose_sizes() {
  size_t taps = 1;
  for (const AxisPhase& row : rows.phases)
    for (const AxisPhase& column : columns.phases)
      taps = std::max(taps, row.taps.size() * column.taps.size());
  block_groups = even_part(source_groups, kPanelRows / (kLanes * static_cast<int64_t>(taps)));
  const int64_t row_places = rows.phases.front().count, places = columns.phases.front().count;
  const auto height_of = [&](int64_t band) {
    return std::min((band - 1) * rows.step + std::max(rows.last - rows.first, int64_t{0}) + 1,
                    source_height);
  };
  // Of a band of one image.
  const auto size_of = [&](int64_t band) {
    return block_groups * height_of(band) * source_width * kLanes +
           band * places * kMaxGroups * kLanes;
  };
  band_rows = row_places;
  while (band_rows > 1 && (size_of(band_rows) > kSecondCache || band_rows * places > kPixels))
    band_rows = (band_rows + 1) / 2;
  const int64_t fitting =
      std::min(kSecondCache / size_of(band_rows), kPixels / (band_rows * places));
  band_images = band_rows < row_places ? 1 : even_part(images_, fitting);
  band_height = height_of(band_rows);
  is_copied =
      band_height < source_height || sources_collide(band_images, block_groups, source_groups,
                                                     source_height * source_width * kLanes);
}

DirectConvolution::Phase DirectConvolution::make_phase(size_t row, size_t column,
                                                       int64_t kernel_width) const {
  const AxisPhase &r = rows.phases[row], &c = columns.phases[column];
  Phase phase{static_cast<int64_t>(row), static_cast<int64_t>(column), {}, {}};
  for (const AxisPhase::Tap& a : r.taps)
    for (const AxisPhase::Tap& b : c.taps) phase.taps.push_back(a.index * kernel_width + b.index);
  const auto width = static_cast<int64_t>(c.taps.size()),
             matrices = static_cast<int64_t>(phase.taps.size());
  for (const AxisPhase::Segment& s : r.segments)
    for (const AxisPhase::Segment& t : c.segments) {
      Region region{s.begin, s.end, t.begin, t.end, {}};
      for (int64_t group = 0; group < block_groups; ++group)
        for (int64_t a = s.first; a < s.last; ++a)
          for (int64_t b = t.first; b < t.last; ++b) {
            const int64_t at =
                (group * band_height + r.taps[static_cast<size_t>(a)].offset) * source_width +
                c.taps[static_cast<size_t>(b)].offset;
            region.taps.push_back({at * kLanes, group * matrices + a * width + b});
          }
      phase.regions.push_back(std::move(region));
    }
  return phase;
}

size_t DirectConvolution::scratch_bytes() const {
  size_t matrices = 0;
  for (const Phase& phase : phases) matrices = std::max(matrices, phase.taps.size());
  const int64_t panel =
      static_cast<int64_t>(matrices) * block_groups * kLanes * kMaxGroups * kLanes;
  return static_cast<size_t>(copied_floats() + panel) * sizeof(float);
}

void DirectConvolution::run(const float* source, const float* kernel, const Epilogue& epilogue,
                            float* target, float* scratch) const {
  HWY_DYNAMIC_DISPATCH(Run)(*this, source, kernel, epilogue, target, scratch);
}

}  // namespace lockstep
#endif  // HWY_ONCE
