#include "lockstep/data/gzip.h"

#include <gtest/gtest.h>

#include "tests/data/data_test_util.h"
#include "tests/formats/format_test_util.h"

namespace lockstep {
namespace {

void expect_damaged(const std::string& packed, const std::string& message) {
  expect_error(ErrorCode::kDataLoss, message, [&] { gunzip(packed, "a.gz"); });
}

TEST(Gunzip, UnpacksWhatWasPacked) {
  std::string text;
  for (int i = 0; i < 100000; ++i) text += std::to_string(i);
  EXPECT_EQ(gunzip(gzipped(text), "a.gz"), text);
  EXPECT_EQ(gunzip(gzipped(""), "a.gz"), "");
}

TEST(Gunzip, MembersFollowEachOther) {
  EXPECT_EQ(gunzip(gzipped("ab") + gzipped("") + gzipped("cd"), "a.gz"), "abcd");
}

TEST(Gunzip, SaysWhatIsWrong) {
  const std::string packed = gzipped(std::string(1000, 'a') + "b");
  expect_damaged("", "[a.gz] gzip data must be whole: it ends early after 0 unpacked bytes");
  expect_damaged("no gzip at all", "gzip data must be whole: incorrect header check");
  expect_damaged(packed.substr(0, packed.size() - 1), "it ends early after 1001 unpacked bytes");
  expect_damaged(packed + "x", "gzip data must be whole:");
  std::string wrong = packed;
  wrong[wrong.size() - 5] ^= 1;
  expect_damaged(wrong, "incorrect data check");
}

TEST(Gunzip, EveryCutIsSeen) {
  const std::string packed = gzipped("the quick brown fox jumps over the lazy dog");
  for (size_t size = 0; size < packed.size(); ++size)
    expect_damaged(packed.substr(0, size), "gzip data must be whole");
}

TEST(Gunzip, IsBounded) {
  const std::string packed = gzipped(std::string(1 << 20, 'a'));
  EXPECT_EQ(gunzip(packed, "a.gz", 1 << 20).size(), size_t{1} << 20);
  for (const uint64_t most : {uint64_t{0}, uint64_t{10}, (uint64_t{1} << 20) - 1})
    expect_error(ErrorCode::kDataLoss,
                 "gzip data must unpack to at most " + std::to_string(most) + " bytes",
                 [&] { gunzip(packed, "a.gz", most); });
}

}  // namespace
}  // namespace lockstep
