#include "lockstep/towers/tree_reduce.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <random>

#include "lockstep/towers/tower_plan.h"

namespace lockstep {
namespace {

TEST(TowerPlan, CutsEveryRowOnceAndJoinsShortLastSlices) {
  EXPECT_EQ(cut_towers(256, 32).size(), 8u);
  EXPECT_EQ(cut_towers(257, 32).back(), (TowerRows{224, 33}));  // 1 row joins the slice before
  EXPECT_EQ(cut_towers(264, 32).back(), (TowerRows{256, 8}));   // a quarter stands alone
  EXPECT_EQ(cut_towers(1, 32), (std::vector<TowerRows>{{0, 1}}));
  for (int64_t rows = 1; rows < 200; ++rows) {
    int64_t next = 0;
    for (const TowerRows& tower : cut_towers(rows, 7)) {
      EXPECT_EQ(tower.begin, next);
      EXPECT_GT(tower.rows, 0);
      next += tower.rows;
    }
    EXPECT_EQ(next, rows);
  }
}

TEST(TowerPlan, PlacesContiguousBalancedRanges) {
  for (int towers = 1; towers <= 17; ++towers)
    for (int devices = 1; devices <= 9; ++devices) {
      int next = 0;
      const auto ranges = place_towers(towers, devices);
      ASSERT_EQ(ranges.size(), static_cast<size_t>(devices));
      for (const TowerRange& range : ranges) {
        EXPECT_EQ(range.first, next);
        EXPECT_LE(range.last - range.first, (towers + devices - 1) / devices)
            << towers << " on " << devices;
        next = range.last;
      }
      EXPECT_EQ(next, towers);
    }
}

TEST(TreeFold, AnyOrderOfDepositsGivesTheTreesBits) {
  std::mt19937 random(1);
  std::uniform_real_distribution<float> uniform(-1, 1);
  for (int towers = 1; towers <= 40; ++towers) {
    std::vector<float> values(static_cast<size_t>(towers));
    for (float& value : values) value = uniform(random);
    std::vector<int> order(values.size());
    for (size_t i = 0; i < order.size(); ++i) order[i] = static_cast<int>(i);
    for (int repeat = 0; repeat < 5; ++repeat) {
      std::shuffle(order.begin(), order.end(), random);
      TreeFold fold(1, repeat + 1);
      fold.begin(towers);
      for (int tower : order) {
        const TreeFold::Buffer buffer = fold.acquire();
        *buffer.data = values[static_cast<size_t>(tower)];
        fold.deposit(tower, buffer.id);
      }
      fold.plan_remaining();
      for (const TreeAdd& add : fold.adds()) add_into(fold.data(add.to), fold.data(add.from), 1);
      EXPECT_EQ(*fold.data(fold.result()), tree_sum(values)) << towers << " towers";
    }
  }
}

TEST(TreeSum, IsLeftPlusRightLevelByLevel) {
  const std::vector<float> values{1e8f, 1.0f, -1e8f, 1.0f, 3.0f};
  EXPECT_EQ(tree_sum(values), ((1e8f + 1.0f) + (-1e8f + 1.0f)) + 3.0f);
}

}  // namespace
}  // namespace lockstep
