#include "lockstep/data/order.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <numeric>
#include <vector>

namespace lockstep {
namespace {

std::vector<int64_t> epoch_order(int64_t size, uint64_t seed, int64_t epoch, int64_t count) {
  const EpochOrder order(size, seed, epoch, true);
  std::vector<int64_t> samples;
  for (int64_t position = 0; position < count; ++position) samples.push_back(order[position]);
  return samples;
}

void expect_permutation(int64_t size, int64_t epoch) {
  std::vector<int64_t> samples = epoch_order(size, 11, epoch, size);
  std::sort(samples.begin(), samples.end());
  std::vector<int64_t> all(static_cast<size_t>(size));
  std::iota(all.begin(), all.end(), 0);
  EXPECT_EQ(samples, all) << size;
}

/// Pearson's statistic of observed counts against equally likely cells.
template <class Key>
double chi_square(const std::map<Key, int>& counts, int cells, int draws) {
  const double expected = static_cast<double>(draws) / cells;
  double sum = (cells - static_cast<int>(counts.size())) * expected;
  for (const auto& [key, count] : counts) sum += (count - expected) * (count - expected) / expected;
  return sum;
}

TEST(EpochOrder, IsAPermutation) {
  for (int64_t size = 1; size <= 300; ++size) expect_permutation(size, size % 7);
  expect_permutation(1000, 0);
  expect_permutation(60000, 2);
}

TEST(EpochOrder, WithoutShuffleIsTheIdentity) {
  const EpochOrder order(100, 1, 2, false);
  for (int64_t position = 0; position < 100; ++position) EXPECT_EQ(order[position], position);
}

// Recorded from a second implementation in Python. Changing them breaks every saved run.
TEST(EpochOrder, IsTheSameForever) {
  using Samples = std::vector<int64_t>;
  EXPECT_EQ(epoch_order(10, 0, 0, 10), (Samples{3, 7, 2, 0, 5, 4, 1, 6, 9, 8}));
  EXPECT_EQ(epoch_order(10, 0, 1, 10), (Samples{5, 6, 4, 8, 7, 9, 3, 0, 1, 2}));
  EXPECT_EQ(epoch_order(10, 7, 0, 10), (Samples{4, 0, 9, 2, 1, 3, 8, 5, 7, 6}));
  EXPECT_EQ(epoch_order(60000, 42, 3, 5), (Samples{28596, 44433, 28815, 45570, 5760}));
  EXPECT_EQ(epoch_order(int64_t{1} << 40, 1, int64_t{1} << 33, 3),
            (Samples{677532244336, 616017803116, 443783657258}));
}

TEST(EpochOrder, SeedsUseAll64Bits) {
  EXPECT_NE(epoch_order(1000, 1, 0, 10), epoch_order(1000, (uint64_t{1} << 32) + 1, 0, 10));
}

// 99.9 % quantiles of the chi-square distribution; the draws are fixed, so the test cannot flicker.
TEST(EpochOrder, EveryOrderOfFourSamplesIsAsLikely) {
  std::map<std::vector<int64_t>, int> counts;
  for (int64_t epoch = 0; epoch < 4800; ++epoch) ++counts[epoch_order(4, 5, epoch, 4)];
  EXPECT_LT(chi_square(counts, 24, 4800), 49.7);
}

TEST(EpochOrder, EverySampleIsAsLikelyAtEveryPosition) {
  for (int64_t position : {0, 1, 49, 99}) {
    std::map<int64_t, int> counts;
    for (int64_t epoch = 0; epoch < 10000; ++epoch)
      ++counts[EpochOrder(100, 3, epoch, true)[position]];
    EXPECT_LT(chi_square(counts, 100, 10000), 148.2) << position;
  }
}

TEST(EpochOrder, NeighboursAreIndependent) {
  // Where the sample after sample i goes, relative to it.
  std::map<int64_t, int> counts;
  const std::vector<int64_t> samples = epoch_order(60000, 9, 0, 60000);
  for (size_t i = 1; i < samples.size(); ++i)
    ++counts[(samples[i] - samples[i - 1] + 60000) % 60000 / 600];
  EXPECT_LT(chi_square(counts, 100, 59999), 148.2);
}

}  // namespace
}  // namespace lockstep
