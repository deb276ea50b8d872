#include "lockstep/backend/onednn/skinny_dot.h"

#include <algorithm>
#include <cstring>
#include <numeric>

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "lockstep/backend/onednn/skinny_dot.cpp"
#include <hwy/cache_control.h>
#include <hwy/foreach_target.h>
#include <hwy/highway.h>
// After highway.h: what follows is compiled once an instruction set. Vectors run along the short
// side or along the rows of w, never along a sum: orders of addition do not depend on their width.

#ifndef LOCKSTEP_SKINNY_CONSTANTS
#define LOCKSTEP_SKINNY_CONSTANTS
namespace lockstep {
namespace {

constexpr int64_t kChunk = 256;    // rows of w at a time
constexpr int64_t kColumns = 512;  // the same of rows of dx: what follows reads as many in a row
constexpr int64_t kTile = 64;      // the same where all rows of x are copied: they stay in L1
constexpr int64_t kRows = 4;       // rows of x whose sums are in registers at once

constexpr int64_t kLine = 16;      // floats of a cache line
constexpr int64_t kRunsAhead = 8;  // of blocked images: far enough for memory to answer

/// Rows of w in the order of x's elements: runs of consecutive rows.
struct RowRuns {
  explicit RowRuns(const Layout& l, int64_t rows)
      : run(l.is_row_major() ? rows : l.block), pixels(l.pixels), channels(l.channels) {}
  /// First row of w of the run that element `i` of a row of x lies in, and i's place in the run.
  int64_t row_of(int64_t i) const {
    if (pixels == 0) return i;
    const int64_t index = i / run;
    return index % pixels * channels + index / pixels * run + i % run;
  }
  /// Calls body(first element, first row of w, count) over [begin, end).
  template <class Body>
  void for_each(int64_t begin, int64_t end, Body&& body) const {
    for (int64_t i = begin; i < end;) {
      const int64_t count = std::min(end, (i / run + 1) * run) - i;
      body(i, row_of(i), count);
      i += count;
    }
  }
  int64_t run, pixels, channels;
};

}  // namespace
}  // namespace lockstep
#endif

HWY_BEFORE_NAMESPACE();
namespace lockstep {
namespace HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;

using D = hn::CappedTag<float, kSkinny>;
using V = hn::Vec<D>;
constexpr int64_t kVectors = kSkinny / static_cast<int64_t>(hn::MaxLanes(D()));
constexpr int64_t kLanes = static_cast<int64_t>(hn::MaxLanes(D()));

/// sums[R][16] += x[0..R, 0..count) w, rows of w being 16 columns apart.
template <int64_t R>
HWY_INLINE void AddProducts(const float* HWY_RESTRICT x, int64_t stride,
                            const float* HWY_RESTRICT w, int64_t count, float* HWY_RESTRICT sums) {
  const D d;
  V total[R][kVectors];
  for (auto& row : total)
    for (V& v : row) v = hn::Zero(d);
  for (int64_t i = 0; i < count; ++i) {
    V column[kVectors];
    for (int64_t v = 0; v < kVectors; ++v) column[v] = hn::LoadU(d, w + i * kSkinny + v * kLanes);
    for (int64_t r = 0; r < R; ++r) {
      const V value = hn::Set(d, x[r * stride + i]);
      for (int64_t v = 0; v < kVectors; ++v)
        total[r][v] = hn::MulAdd(value, column[v], total[r][v]);
    }
  }
  for (int64_t r = 0; r < R; ++r)
    for (int64_t v = 0; v < kVectors; ++v) {
      float* to = sums + r * kSkinny + v * kLanes;
      hn::StoreU(hn::Add(hn::LoadU(d, to), total[r][v]), d, to);
    }
}

/// One row of n floats. Whole vectors where `may_overrun`: then more than n are read and written.
HWY_INLINE void CopyRow(const float* HWY_RESTRICT from, int64_t n, bool may_overrun,
                        float* HWY_RESTRICT to) {
  const D d;
  if (may_overrun) {
    for (int64_t v = 0; v < kVectors; ++v)
      hn::StoreU(hn::LoadU(d, from + v * kLanes), d, to + v * kLanes);
  } else {
    for (int64_t c = 0; c < n; ++c) to[c] = from[c];
  }
}

/// Rows of w at [begin, end) of x's order, 16 columns apart; what stands in columns from n on is
/// never looked at. w has `rows` rows.
void PackRows(const float* w, int64_t n, int64_t rows, const RowRuns& runs, int64_t begin,
              int64_t end, float* to) {
  runs.for_each(begin, end, [&](int64_t first, int64_t row, int64_t count) HWY_ATTR {
    // Runs of blocked images lie far apart: no processor foresees where the next one is.
    if (const int64_t ahead = first + kRunsAhead * runs.run; ahead < rows)
      for (int64_t i = 0; i < runs.run * n; i += kLine)
        hwy::Prefetch(w + runs.row_of(ahead) * n + i);
    for (int64_t i = 0; i < count; ++i)
      CopyRow(w + (row + i) * n, n, (row + i) * n + kSkinny <= rows * n,
              to + (first - begin + i) * kSkinny);
  });
}

void Forward(int64_t m, int64_t n, int64_t k, const RowRuns& runs, const float* x, const float* w,
             float* y, float* scratch) {
  float *packed = scratch, *sums = scratch + kChunk * kSkinny;
  std::fill_n(packed, kChunk * kSkinny, 0.0f);
  std::fill_n(sums, m * kSkinny, 0.0f);
  for (int64_t begin = 0; begin < k; begin += kChunk) {
    const int64_t count = std::min(kChunk, k - begin);
    PackRows(w, n, k, runs, begin, begin + count, packed);
    int64_t r = 0;
    for (; r + kRows <= m; r += kRows)
      AddProducts<kRows>(x + r * k + begin, k, packed, count, sums + r * kSkinny);
    for (; r < m; ++r) AddProducts<1>(x + r * k + begin, k, packed, count, sums + r * kSkinny);
  }
  for (int64_t r = 0; r < m; ++r) std::copy_n(sums + r * kSkinny, n, y + r * n);
}

/// One row of dx over a chunk: sum over c of dy[c] * columns[c].
HWY_INLINE void CombineColumns(const float* dy, int64_t k, const float* columns, int64_t count,
                               float* dx) {
  const D d;
  constexpr int64_t kStep = 4 * kLanes;
  const auto combine = [&](int64_t i, int64_t vectors) HWY_ATTR {
    V total[4] = {hn::Zero(d), hn::Zero(d), hn::Zero(d), hn::Zero(d)};
    for (int64_t c = 0; c < k; ++c) {
      const V value = hn::Set(d, dy[c]);
      for (int64_t v = 0; v < vectors; ++v)
        total[v] =
            hn::MulAdd(value, hn::LoadU(d, columns + c * kColumns + i + v * kLanes), total[v]);
    }
    for (int64_t v = 0; v < vectors; ++v) {
      const int64_t at = i + v * kLanes, left = count - at;
      if (left >= kLanes) {
        hn::StoreU(total[v], d, dx + at);
      } else if (left > 0) {
        float tail[kSkinny];
        hn::StoreU(total[v], d, tail);
        std::copy_n(tail, left, dx + at);
      }
    }
  };
  for (int64_t i = 0; i < count; i += kStep) combine(i, 4);
}

void InputGradient(int64_t m, int64_t n, int64_t k, const RowRuns& runs, const float* dy,
                   const float* w, float* dx, float* scratch,
                   const std::function<void(int64_t, int64_t)>& completed) {
  float *columns = scratch, *packed = scratch + kSkinny * kColumns;
  std::fill_n(columns, kSkinny * kColumns, 0.0f);
  for (int64_t begin = 0; begin < n; begin += kColumns) {
    const int64_t end = std::min(n, begin + kColumns);
    PackRows(w, k, n, runs, begin, end, packed);
    for (int64_t c = 0; c < k; ++c)
      for (int64_t i = 0; i < end - begin; ++i) columns[c * kColumns + i] = packed[i * kSkinny + c];
    for (int64_t r = 0; r < m; ++r) {
      CombineColumns(dy + r * k, k, columns, end - begin, dx + r * n + begin);
      completed(r * n + begin, r * n + end);
    }
  }
}

/// sums[R][16] = x[:, 0..R)^T dy, with x's chunk and dy (padded to 16) close by.
template <int64_t R>
HWY_INLINE void OuterProducts(const float* HWY_RESTRICT x, const float* HWY_RESTRICT dy, int64_t k,
                              float* HWY_RESTRICT sums) {
  const D d;
  V total[R][kVectors];
  for (auto& row : total)
    for (V& v : row) v = hn::Zero(d);
  for (int64_t s = 0; s < k; ++s) {
    V column[kVectors];
    for (int64_t v = 0; v < kVectors; ++v) column[v] = hn::LoadU(d, dy + s * kSkinny + v * kLanes);
    for (int64_t r = 0; r < R; ++r) {
      const V value = hn::Set(d, x[s * kTile + r]);
      for (int64_t v = 0; v < kVectors; ++v)
        total[r][v] = hn::MulAdd(value, column[v], total[r][v]);
    }
  }
  for (int64_t r = 0; r < R; ++r)
    for (int64_t v = 0; v < kVectors; ++v)
      hn::StoreU(total[r][v], d, sums + r * kSkinny + v * kLanes);
}

void WeightGradient(int64_t m, int64_t n, int64_t k, const RowRuns& runs, const float* x,
                    const float* dy, float* dw, float* scratch) {
  float *padded = scratch, *sums = padded + k * kSkinny, *chunk = sums + kTile * kSkinny;
  std::fill_n(padded, k * kSkinny, 0.0f);
  for (int64_t s = 0; s < k; ++s) std::copy_n(dy + s * n, n, padded + s * kSkinny);
  for (int64_t begin = 0; begin < m; begin += kTile) {
    const int64_t count = std::min(kTile, m - begin);
    for (int64_t s = 0; s < k; ++s) {
      const float* from = x + s * m + begin;
      std::copy_n(from, count, chunk + s * kTile);
      // Rows of x lie far apart: the next tile's part of each is not foreseen.
      for (int64_t i = 0; i < kTile; i += kLine) hwy::Prefetch(from + kTile + i);
    }
    int64_t i = 0;
    for (; i + kRows <= count; i += kRows)
      OuterProducts<kRows>(chunk + i, padded, k, sums + i * kSkinny);
    for (; i < count; ++i) OuterProducts<1>(chunk + i, padded, k, sums + i * kSkinny);
    // What a row writes beyond itself, the next row of its run overwrites.
    runs.for_each(begin, begin + count, [&](int64_t first, int64_t row, int64_t rows) HWY_ATTR {
      for (int64_t j = 0; j < rows; ++j)
        CopyRow(sums + (first - begin + j) * kSkinny, n, n * (rows - j) >= kSkinny,
                dw + (row + j) * n);
    });
  }
}

}  // namespace HWY_NAMESPACE
}  // namespace lockstep
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace lockstep {

HWY_EXPORT(Forward);
HWY_EXPORT(InputGradient);
HWY_EXPORT(WeightGradient);

SkinnyForm skinny_form(int64_t m, int64_t n, int64_t k, bool is_lhs_transposed,
                       bool is_rhs_transposed) {
  if (!is_lhs_transposed && is_rhs_transposed && n <= kSkinny && k >= 64)
    return SkinnyForm::kForward;
  if (!is_lhs_transposed && !is_rhs_transposed && k <= kSkinny && n >= 64)
    return SkinnyForm::kInputGradient;
  if (is_lhs_transposed && is_rhs_transposed && n <= kSkinny && m >= 64)
    return SkinnyForm::kWeightGradient;
  return SkinnyForm::kNone;
}

size_t skinny_scratch_bytes(SkinnyForm form, int64_t m, int64_t k) {
  const int64_t chunk = kChunk * kSkinny;
  switch (form) {
    case SkinnyForm::kNone:
      return 0;
    case SkinnyForm::kForward:
      return static_cast<size_t>(chunk + m * kSkinny) * sizeof(float);
    case SkinnyForm::kInputGradient:
      return static_cast<size_t>(2 * kColumns * kSkinny) * sizeof(float);
    case SkinnyForm::kWeightGradient:
      return static_cast<size_t>((kTile + k) * kSkinny + k * kTile) * sizeof(float);
  }
  return 0;
}

void skinny_dot(SkinnyForm form, int64_t m, int64_t n, int64_t k, const Layout& layout,
                const float* a, const float* b, float* c, float* scratch,
                const std::function<void(int64_t, int64_t)>& completed) {
  switch (form) {
    case SkinnyForm::kNone:
      return;
    case SkinnyForm::kForward:
      HWY_DYNAMIC_DISPATCH(Forward)(m, n, k, RowRuns(layout, k), a, b, c, scratch);
      break;
    case SkinnyForm::kInputGradient:
      HWY_DYNAMIC_DISPATCH(InputGradient)
      (m, n, k, RowRuns(layout, n), a, b, c, scratch, completed);
      return;
    case SkinnyForm::kWeightGradient:
      HWY_DYNAMIC_DISPATCH(WeightGradient)(m, n, k, RowRuns(layout, m), a, b, c, scratch);
      break;
  }
  completed(0, m * n);
}

int64_t skinny_grain(SkinnyForm form, int64_t m, int64_t n) {
  return form == SkinnyForm::kInputGradient ? std::gcd(n, kColumns) : m * n;
}

}  // namespace lockstep
#endif  // HWY_ONCE
