// What the cache keeps, and for how long.
#include "lockstep/backend/pjrt/program_cache.h"

#include <gtest/gtest.h>

#include "lockstep/base/error.h"

namespace lockstep::pjrt {
namespace {

class Cache : public testing::Test {
 protected:
  std::shared_ptr<std::string> get(const std::string& source) {
    return cache_.get(source, [&] {
      ++compiled_;
      return std::make_shared<std::string>(source);
    });
  }

  ProgramCache<std::string> cache_{2};
  int compiled_ = 0;
};

TEST_F(Cache, KeepsTheLastUsedOfThoseThatNobodyHolds) {
  const auto held = get("held");
  for (const char* source : {"a", "b", "a", "c"}) get(source);
  EXPECT_EQ(compiled_, 4);
  get("d");  // drops b, which was used before a
  for (const char* source : {"held", "a", "c", "d"}) get(source);
  EXPECT_EQ(compiled_, 5);
  get("b");
  EXPECT_EQ(compiled_, 6);
}

TEST_F(Cache, CompilesAgainWhatFailed) {
  EXPECT_THROW(cache_.get("a", []() -> std::shared_ptr<std::string> { unsupported("a", "no"); }),
               Error);
  EXPECT_EQ(*get("a"), "a");
}

}  // namespace
}  // namespace lockstep::pjrt
