// The first promise on devices with a memory of their own, here XLA's on the CPU.
#include "tests/train/same_bits.h"

namespace lockstep {
namespace {

using namespace same_bits;

class SameBitsOnXla : public testing::TestWithParam<int> {};

TEST_P(SameBitsOnXla, OnAnyDevices) {
  std::mt19937 random(static_cast<unsigned>(GetParam()));
  const Draw draw(random);
  const auto outcome_on = [&](const std::string& devices) {
    return train(draw.recipe, draw.data,
                 {.batch_size = draw.batch, .devices = devices, .tower_size = draw.tower_size});
  };
  const Outcome want = outcome_on("xla_cpu:1");
  // One device twice is two devices all the same.
  for (const char* devices : {"xla_cpu:0,0", "xla_cpu:3"})
    expect_same(outcome_on(devices), want, fmt::format("{}, {} towers", devices, draw.towers));
}

INSTANTIATE_TEST_SUITE_P(Draws, SameBitsOnXla, testing::Range(0, 3));

}  // namespace
}  // namespace lockstep
