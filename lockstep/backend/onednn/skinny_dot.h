// Matrix products with one side of at most 16: a classifier's last layer and its two gradients.
// They are bound by memory, and oneDNN's general product reads it at half the speed or less.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>

#include "lockstep/backend/onednn/layout.h"

namespace lockstep {

/// With x [m, k] and w [k, n], n <= 16: y = x w; dx = dy w^T; dw = x^T dy. As dot_general sees
/// them:
enum class SkinnyForm {
  kNone,
  kForward,         // [m, k] by [k, n], n small
  kInputGradient,   // [m, k] by [n, k], k small
  kWeightGradient,  // [k, m] by [k, n], n small
};

constexpr int64_t kSkinny = 16;

/// The form of a product, its operands stored transposed or not; kNone where it is not skinny.
SkinnyForm skinny_form(int64_t m, int64_t n, int64_t k, bool is_lhs_transposed,
                       bool is_rhs_transposed);

size_t skinny_scratch_bytes(SkinnyForm form, int64_t m, int64_t k);

/// c = a b. The long side (rows of w) lies in the order of `layout` in x or dx, row-major in w and
/// dw: flattened images need no reordering. Calls `completed(first, end)` whenever so many elements
/// of c are done, which begin and end at multiples of skinny_grain().
void skinny_dot(SkinnyForm form, int64_t m, int64_t n, int64_t k, const Layout& layout,
                const float* a, const float* b, float* c, float* scratch,
                const std::function<void(int64_t first, int64_t end)>& completed);
int64_t skinny_grain(SkinnyForm form, int64_t m, int64_t n);

}  // namespace lockstep
