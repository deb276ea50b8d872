// Kernels with the vectors of an older processor: what they draw and compute must not depend
// on how many numbers a vector holds.
#include <gtest/gtest.h>

#include <array>
#include <vector>

#include "lockstep/backend/onednn/pointwise_kernels.h"
#include "lockstep/backend/onednn/skinny_dot.h"

namespace lockstep {
namespace {

/// Narrow vectors while it lives.
class OlderProcessor {
 public:
  OlderProcessor() { use_narrow_vectors(true); }
  ~OlderProcessor() { use_narrow_vectors(false); }
  OlderProcessor(const OlderProcessor&) = delete;
  OlderProcessor& operator=(const OlderProcessor&) = delete;
};

std::vector<float> numbers(int64_t count) {
  std::vector<float> values(static_cast<size_t>(count));
  for (size_t i = 0; i < values.size(); ++i)
    values[i] = static_cast<float>(i * 7919 % 2003) / 1000.0f - 1.0f;
  return values;
}

struct Dropped {
  std::vector<float> y;
  std::vector<uint16_t> mask;
  bool operator==(const Dropped&) const = default;
};

Dropped drop(int64_t n) {
  const std::vector<float> x = numbers(n);
  Dropped d{std::vector<float>(x.size()), std::vector<uint16_t>(static_cast<size_t>(n + 15) / 16)};
  dropout_row({x.data(), d.y.data(), d.mask.data(), n, 11, 22, 33, 44, 55, 20000, 1.5f});
  return d;
}

TEST(VectorWidths, DropoutDrawsTheSame) {
  for (int64_t n : {1, 7, 16, 100, 128, 1000, 4096}) {
    const Dropped here = drop(n);
    const OlderProcessor older;
    ASSERT_EQ(vector_floats(), 4);
    EXPECT_EQ(drop(n), here) << n;
  }
}

std::vector<float> product(SkinnyForm form, int64_t m, int64_t n, int64_t k, const Layout& layout) {
  const std::vector<float> a = numbers(m * k), b = numbers(k * n);
  std::vector<float> c(static_cast<size_t>(m * n)),
      scratch(skinny_scratch_bytes(form, m, k) / sizeof(float));
  int64_t done = 0;
  skinny_dot(form, m, n, k, layout, a.data(), b.data(), c.data(), scratch.data(),
             [&](int64_t first, int64_t end) { done += end - first; });
  EXPECT_EQ(done, m * n);
  return c;
}

TEST(VectorWidths, SkinnyProductsAgree) {
  const Layout images{.images = 5, .pixels = 9, .channels = 32, .block = 8};
  for (const Layout& layout : {Layout{}, images})
    for (int64_t n : {1, 3, 10, 16}) {
      const std::array forms{std::array<int64_t, 3>{5, n, 288}, std::array<int64_t, 3>{5, 288, n},
                             std::array<int64_t, 3>{288, n, 5}};
      const std::array kinds{SkinnyForm::kForward, SkinnyForm::kInputGradient,
                             SkinnyForm::kWeightGradient};
      for (size_t i = 0; i < forms.size(); ++i) {
        const auto [rows, columns, inner] = forms[i];
        const std::vector<float> here = product(kinds[i], rows, columns, inner, layout);
        const OlderProcessor older;
        const std::vector<float> there = product(kinds[i], rows, columns, inner, layout);
        for (size_t j = 0; j < here.size(); ++j)
          // Sums of at most 288 products of at most 1: without fused multiply-add each is rounded
          // twice.
          ASSERT_NEAR(here[j], there[j], 2e-5) << "form " << i << " n " << n << " element " << j;
      }
    }
}

}  // namespace
}  // namespace lockstep
