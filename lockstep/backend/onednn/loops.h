// Plain loops over NHWC data, compiled once an instruction set so that the compiler vectorises
// them. Every sum has an order that does not depend on the width of vectors: 16 running sums over
// consecutive elements added as halves (lane i + lane i+8, ...), or running sums of 64 rows a
// column.
#pragma once

#include <cstddef>
#include <cstdint>

namespace lockstep {

struct Loops {
  /// out[c] = sum over rows of x[r, c]
  void (*sum_columns)(const float* x, int64_t rows, int64_t columns, float* out);
  /// sum of n elements, in 16 lanes
  float (*sum_row)(const float* x, int64_t n);
  void (*max_columns)(const float* x, int64_t rows, int64_t columns, float* out);

  /// mean and biased variance of each column; then y = (x - mean) * inverse * gamma + beta
  void (*batch_norm)(const float* x, const float* gamma, const float* beta, float epsilon,
                     int64_t rows, int64_t channels, float* y, float* mean, float* variance,
                     float* scratch);
  void (*batch_norm_gradient)(const float* x, const float* gamma, const float* mean,
                              const float* variance, const float* dy, float epsilon, int64_t rows,
                              int64_t channels, float* dx, float* dgamma, float* dbeta,
                              float* scratch);

  /// to[c] = max(to[c], x[c]); to[c] += x[c]; to[c] += x[c] * factor
  void (*max_into)(float* to, const float* x, int64_t n);
  void (*add_into)(float* to, const float* x, int64_t n);
  void (*scale_into)(float* to, const float* x, float factor, int64_t n);
  /// Where x[c] equals y[c] for the first time (taken[c] still 0): dx[c] += dy[c], taken[c] = 1.
  void (*route_gradient)(const float* x, const float* y, const float* dy, int32_t* taken, float* dx,
                         int64_t n);
};

/// The loops compiled for this machine.
const Loops& loops();

}  // namespace lockstep
