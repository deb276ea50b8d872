// The first promise as a property: whatever the devices, the placement and who is slow, the same
// bits.
#include "tests/train/same_bits.h"

#include <chrono>
#include <thread>

namespace lockstep {
namespace {

using namespace same_bits;

class SameBits : public testing::TestWithParam<int> {};

TEST_P(SameBits, OnAnyDevices) {
  std::mt19937 random(static_cast<unsigned>(GetParam()));
  const Draw draw(random);
  const auto arguments_for = [&](const std::string& devices) {
    return FitArguments{
        .batch_size = draw.batch, .devices = devices, .tower_size = draw.tower_size};
  };
  const Outcome want = train(draw.recipe, draw.data, arguments_for("cpu:1"));
  for (const int devices : {2, 3, 5, 7})
    for (const Placement placement : {Placement::kStatic, Placement::kDynamic}) {
      FitArguments arguments = arguments_for(fmt::format("cpu:{}", devices));
      arguments.placement = placement;
      const int slow = static_cast<int>(random() % static_cast<unsigned>(devices));
      arguments.before_tower = [slow](int device, int) {
        if (device == slow) std::this_thread::sleep_for(std::chrono::microseconds(300));
      };
      expect_same(train(draw.recipe, draw.data, arguments), want,
                  fmt::format("{} devices, {} towers", devices, draw.towers));
    }
}

INSTANTIATE_TEST_SUITE_P(Draws, SameBits, testing::Range(0, 12));

/// Largest difference of the first normalisation's moving variance between the whole batch of 24 in
/// one tower and four towers. (Moving means are equal without any exchange.)
float variance_gap(bool synchronized) {
  const Recipe recipe{.synchronized = synchronized};
  const DatasetPtr data = make_data(24);
  Model whole = make_model(recipe), cut = make_model(recipe);
  FitArguments arguments{.batch_size = 24, .verbose = 0, .devices = "cpu:2", .tower_size = 24};
  whole.fit(data, arguments);
  arguments.tower_size = 6;
  cut.fit(data, arguments);
  const size_t moving_variance = 5;
  const HostTensor a = whole.get_weights()[moving_variance], b = cut.get_weights()[moving_variance];
  float gap = 0;
  for (size_t i = 0; i < static_cast<size_t>(a.size()); ++i)
    gap = std::max(gap, std::abs(a.data<float>()[i] - b.data<float>()[i]));
  return gap;
}

TEST(SynchronizedBatchNorm, EqualsTheWholeBatchInOneTower) {
  EXPECT_LT(variance_gap(true), 1e-6);
}

TEST(SynchronizedBatchNorm, IsNotWhatTowersDoByThemselves) {
  EXPECT_GT(variance_gap(false), 1e-5);
}

}  // namespace
}  // namespace lockstep
