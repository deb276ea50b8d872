// Buffers, events and programs come and go by the thousand; none stays behind.
#include <gtest/gtest.h>
#include <unistd.h>

#include <cstdlib>
#include <fstream>

#include "lockstep/lockstep.h"
#include "tests/train/same_bits.h"

namespace lockstep {
namespace {

int64_t resident_bytes() {
  int64_t pages = 0, resident = 0;
  std::ifstream("/proc/self/statm") >> pages >> resident;
  return resident * sysconf(_SC_PAGESIZE);
}

/// 10,000 steps in scripts/check.sh --full.
TEST(MemoryOnXla, StaysFlatOverThousandsOfSteps) {
  const int64_t steps = std::getenv("LOCKSTEP_FULL_TESTS") != nullptr ? 10'000 : 2'000;
  constexpr int64_t kBatch = 4, kWarm = 500;
  const DatasetPtr data = std::make_shared<ArrayDataset>(std::vector<ArrayDataset::Array>{
      {{Column::Role::kInput, "", {}, {}}, same_bits::noise({kBatch * 100, 3}, 1)},
      {{Column::Role::kTarget, "", {}, {}}, same_bits::noise({kBatch * 100, 1}, 2)}});
  const Tensor x = Input({3});
  Model model(x, Dense({.units = 1})(x));
  model.compile({.optimizer = Adam(), .loss = "mse"});
  int64_t before = 0, asked = 0;
  FitArguments arguments{.batch_size = kBatch, .epochs = steps / 100, .verbose = 0};
  arguments.devices = "xla_cpu:2";
  arguments.tower_size = 2;
  arguments.should_stop = [&] {
    if (++asked == kWarm) before = resident_bytes();
    return false;
  };
  model.fit(data, arguments);
  EXPECT_GE(asked, steps);
  EXPECT_LT(resident_bytes() - before, int64_t{2} << 20);
}

}  // namespace
}  // namespace lockstep
