// Blocked images to row-major order and back, in units of any size.
#include "lockstep/backend/onednn/layout.h"

#include <gtest/gtest.h>

#include <vector>

namespace lockstep {
namespace {

TEST(Layout, ReordersUnitsOfAnySize) {
  constexpr int64_t kImages = 2, kBlock = 8;
  for (const int64_t unit : {1, 2, 4, 24, 32})
    for (const int64_t groups : {1, 2, 3, 4, 8, 16, 17, 64, 65, 128})
      for (const int64_t pixels : {1, 5, 63, 64, 65, 130}) {
        SCOPED_TRACE(testing::Message() << unit << " bytes, " << groups << " groups, " << pixels);
        const Layout layout{kImages, pixels, groups * kBlock, kBlock};
        const auto size = static_cast<size_t>(kImages * pixels * groups * unit);
        std::vector<std::byte> from(size), to(size), want(size);
        for (size_t i = 0; i < size; ++i) from[i] = static_cast<std::byte>(i * 37 % 251);
        for (int64_t n = 0; n < kImages; ++n)
          for (int64_t p = 0; p < pixels; ++p)
            for (int64_t g = 0; g < groups; ++g)
              for (int64_t b = 0; b < unit; ++b)
                want[static_cast<size_t>(((n * groups + g) * pixels + p) * unit + b)] =
                    from[static_cast<size_t>(((n * pixels + p) * groups + g) * unit + b)];
        reorder(layout, false, size, from.data(), to.data());
        ASSERT_EQ(to, want);
        reorder(layout, true, size, want.data(), to.data());
        ASSERT_EQ(to, from);
      }
}

}  // namespace
}  // namespace lockstep
