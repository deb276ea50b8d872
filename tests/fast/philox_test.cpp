#include "lockstep/tensor/philox.h"

#include <gtest/gtest.h>

#include <cmath>
#include <set>
#include <vector>

namespace lockstep {
namespace {

using Words = std::array<uint32_t, 4>;

// Known answers of the authors' Random123 library (kat_vectors, philox4x32 with 10 rounds).
TEST(Philox, KnownAnswers) {
  EXPECT_EQ(philox4x32({0, 0, 0, 0}, {0, 0}),
            (Words{0x6627e8d5, 0xe169c58d, 0xbc57ac4c, 0x9b00dbd8}));
  const uint32_t ones = 0xffffffff;
  EXPECT_EQ(philox4x32({ones, ones, ones, ones}, {ones, ones}),
            (Words{0x408f276d, 0x41c83b0e, 0xa20bc7c6, 0x6d5451fd}));
  EXPECT_EQ(philox4x32({0x243f6a88, 0x85a308d3, 0x13198a2e, 0x03707344}, {0xa4093822, 0x299f31d0}),
            (Words{0xd16cfe09, 0x94fdcceb, 0x5001e420, 0x24126ea1}));
}

TEST(Philox, KeysDifferBySeedPurposeAndName) {
  std::set<std::pair<uint32_t, uint32_t>> keys;
  for (uint64_t seed : {uint64_t{0}, uint64_t{1}, uint64_t{1} << 32})
    for (RandomPurpose purpose : {RandomPurpose::kInit, RandomPurpose::kShuffle,
                                  RandomPurpose::kAugment, RandomPurpose::kLayer})
      for (const char* name : {"", "a", "b", "ab"}) {
        const PhiloxKey key = philox_key(seed, purpose, name);
        keys.insert({key.k0, key.k1});
      }
  EXPECT_EQ(keys.size(), 3u * 4u * 4u);
}

TEST(Philox, KeyIsAFunctionOfItsArguments) {
  EXPECT_EQ(philox_key(7, RandomPurpose::kLayer, "model"),
            philox_key(7, RandomPurpose::kLayer, "model"));
}

TEST(PhiloxStream, GivesTheWordsOfCounterZeroOneAndSoOn) {
  const PhiloxKey key{3, 4};
  PhiloxStream stream(key);
  for (uint32_t block = 0; block < 3; ++block)
    for (uint32_t word : philox4x32({block, 0, 0, 0}, key)) EXPECT_EQ(stream.next(), word);
}

TEST(PhiloxStream, UniformLiesInTheUnitIntervalWithItsMean) {
  PhiloxStream stream({1, 2});
  double sum = 0;
  constexpr int kCount = 10000;
  for (int i = 0; i < kCount; ++i) {
    const double value = stream.uniform();
    ASSERT_GE(value, 0);
    ASSERT_LT(value, 1);
    sum += value;
  }
  // Five standard deviations of the mean: 5 * sqrt(1/12 / 10000).
  EXPECT_NEAR(sum / kCount, 0.5, 0.0145);
}

TEST(PhiloxStream, NormalHasMeanZeroAndVarianceOne) {
  PhiloxStream stream({1, 2});
  double sum = 0, squares = 0;
  constexpr int kCount = 10000;
  for (int i = 0; i < kCount; ++i) {
    const double value = stream.normal();
    sum += value;
    squares += value * value;
  }
  EXPECT_NEAR(sum / kCount, 0, 0.05);       // five standard deviations: 5 / sqrt(10000)
  EXPECT_NEAR(squares / kCount, 1, 0.071);  // 5 * sqrt(2 / 10000)
}

TEST(PhiloxStream, BelowReachesEveryValueAndNoOther) {
  PhiloxStream stream({5, 6});
  std::vector<int> counts(7, 0);
  for (int i = 0; i < 7000; ++i) {
    const uint64_t value = stream.below(7);
    ASSERT_LT(value, 7u);
    ++counts[value];
  }
  // Five standard deviations of a binomial count: 5 * sqrt(7000 * 1/7 * 6/7).
  for (int count : counts) EXPECT_NEAR(count, 1000, 147);
  EXPECT_EQ(stream.below(1), 0u);
}

}  // namespace
}  // namespace lockstep
