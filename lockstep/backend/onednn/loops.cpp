#include "lockstep/backend/onednn/loops.h"

#include <algorithm>
#include <cmath>
#include <cstring>

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "lockstep/backend/onednn/loops.cpp"
#include <hwy/foreach_target.h>
#include <hwy/highway.h>

HWY_BEFORE_NAMESPACE();
namespace lockstep {
namespace HWY_NAMESPACE {

constexpr int64_t kLanes = 16;
// Rows summed before they join the total: keeps the running sums short, so that rounding stays
// small.
constexpr int64_t kRowBlock = 64;
constexpr int64_t kColumnBlock = 64;  // columns whose running sums stay in registers

float Sum16(const float* lanes) {
  float a[8], b[4];
  for (int i = 0; i < 8; ++i) a[i] = lanes[i] + lanes[i + 8];
  for (int i = 0; i < 4; ++i) b[i] = a[i] + a[i + 4];
  return (b[0] + b[2]) + (b[1] + b[3]);
}

float SumRow(const float* x, int64_t n) {
  float lanes[kLanes] = {};
  int64_t i = 0;
  for (; i + kLanes <= n; i += kLanes)
    for (int64_t l = 0; l < kLanes; ++l) lanes[l] += x[i + l];
  for (int64_t l = 0; i + l < n; ++l) lanes[l] += x[i + l];
  return Sum16(lanes);
}

/// Adds f(r, c) over all rows to out[c], block by block.
template <class F>
HWY_INLINE void SumOver(int64_t rows, int64_t columns, float* out, F f) {
  for (int64_t c0 = 0; c0 < columns; c0 += kColumnBlock) {
    const int64_t width = std::min(kColumnBlock, columns - c0);
    float total[kColumnBlock] = {};
    for (int64_t r0 = 0; r0 < rows; r0 += kRowBlock) {
      float block[kColumnBlock] = {};
      const int64_t end = std::min(rows, r0 + kRowBlock);
      for (int64_t r = r0; r < end; ++r)
        for (int64_t c = 0; c < width; ++c) block[c] += f(r, c0 + c);
      for (int64_t c = 0; c < width; ++c) total[c] += block[c];
    }
    std::copy_n(total, width, out + c0);
  }
}

void SumColumns(const float* x, int64_t rows, int64_t columns, float* out) {
  SumOver(rows, columns, out, [=](int64_t r, int64_t c) { return x[r * columns + c]; });
}

void MaxColumns(const float* x, int64_t rows, int64_t columns, float* out) {
  std::fill_n(out, columns, -HUGE_VALF);
  for (int64_t r = 0; r < rows; ++r)
    for (int64_t c = 0; c < columns; ++c) {
      const float value = x[r * columns + c];
      out[c] = value > out[c] || value != value ? value : out[c];
    }
}

void BatchNorm(const float* x, const float* gamma, const float* beta, float epsilon, int64_t rows,
               int64_t channels, float* y, float* mean, float* variance, float* scratch) {
  const float n = static_cast<float>(rows);
  SumColumns(x, rows, channels, mean);
  for (int64_t c = 0; c < channels; ++c) mean[c] /= n;
  SumOver(rows, channels, variance, [=](int64_t r, int64_t c) {
    const float centred = x[r * channels + c] - mean[c];
    return centred * centred;
  });
  for (int64_t c = 0; c < channels; ++c) {
    variance[c] /= n;
    scratch[c] = 1.0f / std::sqrt(variance[c] + epsilon) * gamma[c];
  }
  for (int64_t r = 0; r < rows; ++r)
    for (int64_t c = 0; c < channels; ++c)
      y[r * channels + c] = (x[r * channels + c] - mean[c]) * scratch[c] + beta[c];
}

void BatchNormGradient(const float* x, const float* gamma, const float* mean, const float* variance,
                       const float* dy, float epsilon, int64_t rows, int64_t channels, float* dx,
                       float* dgamma, float* dbeta, float* scratch) {
  const float n = static_cast<float>(rows);
  SumColumns(dy, rows, channels, dbeta);
  SumOver(rows, channels, dgamma, [=](int64_t r, int64_t c) {
    return dy[r * channels + c] * (x[r * channels + c] - mean[c]);
  });
  float *inverse = scratch, *scale = scratch + channels, *shift = scratch + 2 * channels,
        *slope = scratch + 3 * channels;
  for (int64_t c = 0; c < channels; ++c) {
    inverse[c] = 1.0f / std::sqrt(variance[c] + epsilon);
    dgamma[c] *= inverse[c];
    scale[c] = gamma[c] * inverse[c];
    shift[c] = dbeta[c] / n;
    slope[c] = inverse[c] * dgamma[c] / n;
  }
  for (int64_t r = 0; r < rows; ++r)
    for (int64_t c = 0; c < channels; ++c) {
      const int64_t i = r * channels + c;
      dx[i] = scale[c] * (dy[i] - shift[c] - (x[i] - mean[c]) * slope[c]);
    }
}

void MaxInto(float* to, const float* x, int64_t n) {
  for (int64_t i = 0; i < n; ++i) to[i] = x[i] > to[i] ? x[i] : to[i];
}
void AddInto(float* to, const float* x, int64_t n) {
  for (int64_t i = 0; i < n; ++i) to[i] += x[i];
}
void ScaleInto(float* to, const float* x, float factor, int64_t n) {
  for (int64_t i = 0; i < n; ++i) to[i] += x[i] * factor;
}
void RouteGradient(const float* x, const float* y, const float* dy, int32_t* taken, float* dx,
                   int64_t n) {
  for (int64_t i = 0; i < n; ++i) {
    const bool here = x[i] == y[i] && taken[i] == 0;
    dx[i] += here ? dy[i] : 0.0f;
    taken[i] = here ? 1 : taken[i];
  }
}

const Loops* Table() {
  static constexpr Loops kLoops = {&SumColumns,        &SumRow,  &MaxColumns, &BatchNorm,
                                   &BatchNormGradient, &MaxInto, &AddInto,    &ScaleInto,
                                   &RouteGradient};
  return &kLoops;
}

}  // namespace HWY_NAMESPACE
}  // namespace lockstep
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace lockstep {

HWY_EXPORT(Table);
const Loops& loops() {
  return *HWY_DYNAMIC_DISPATCH(Table)();
}

}  // namespace lockstep
#endif  // HWY_ONCE
