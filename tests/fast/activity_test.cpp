#include "lockstep/base/activity.h"

#include <gtest/gtest.h>

#include <atomic>
#include <chrono>
#include <cstdlib>
#include <future>
#include <thread>
#include <vector>

namespace lockstep {
namespace {

using namespace std::chrono_literals;

TEST(Activity, IsNothingWhereNobodyIsBusy) {
  EXPECT_EQ(describe_activities(), "");
}

TEST(Activity, NestsAndEndsWithItsScope) {
  {
    const Activity step("training step {}", 7);
    EXPECT_EQ(describe_activities(), "training step 7");
    {
      const Activity tower("running {} on device {}", "tower_32", 1);
      EXPECT_EQ(describe_activities(), "training step 7: running tower_32 on device 1");
    }
    EXPECT_EQ(describe_activities(), "training step 7");
    const VendorCall call("foreign code");
    EXPECT_EQ(describe_activities(), "training step 7: foreign code");
  }
  EXPECT_EQ(describe_activities(), "");
}

TEST(Activity, OfEachThreadIsTold) {
  const Activity step("training step 7");
  std::promise<void> is_busy, may_end;
  std::thread other([&] {
    const Activity outer("device 1");
    const Activity inner("running tower_32");
    is_busy.set_value();
    may_end.get_future().wait();
  });
  is_busy.get_future().wait();
  EXPECT_EQ(describe_activities(), "training step 7; device 1: running tower_32");
  may_end.set_value();
  other.join();
  EXPECT_EQ(describe_activities(), "training step 7");
}

TEST(Activity, IsCutWhereItIsLong) {
  const Activity longest("{}", std::string(Activity::kLongest, 'a'));
  EXPECT_EQ(describe_activities(), std::string(Activity::kLongest, 'a'));
  const Activity longer("{}", std::string(10'000, 'b'));
  EXPECT_EQ(describe_activities(),
            std::string(Activity::kLongest, 'a') + ": " + std::string(Activity::kLongest, 'b'));
}

TEST(Activity, TellsTheSixOutermostScopes) {
  const Activity a("a"), b("b"), c("c"), d("d"), e("e"), f("f");
  {
    const Activity g("g"), h("h");
    EXPECT_EQ(describe_activities(), "a: b: c: d: e: f");
  }
  EXPECT_EQ(describe_activities(), "a: b: c: d: e: f");
}

TEST(Activity, OfThreadsBeyondTheTableGoesUntold) {
  std::promise<void> may_end;
  const std::shared_future<void> end = may_end.get_future().share();
  std::vector<std::thread> threads;
  std::atomic<int> busy{0};
  for (int i = 0; i < 600; ++i)
    threads.emplace_back([&, end] {
      const Activity work("work");
      const VendorCall call("call");
      ++busy;
      end.wait();
    });
  while (busy < 600) std::this_thread::sleep_for(1ms);
  const std::string all = describe_activities();
  EXPECT_TRUE(all.starts_with("work: call; work: call; "));
  may_end.set_value();
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(describe_activities(), "");
  const Activity after("after");
  EXPECT_EQ(describe_activities(), "after");
}

std::string written(const char* prefix) {
  testing::internal::CaptureStderr();
  write_vendor_activities(prefix);
  return testing::internal::GetCapturedStderr();
}

TEST(Activity, IsWrittenForSignalsWhereForeignCodeRuns) {
  EXPECT_EQ(written("died in "), "");
  const Activity step("training step 7");
  EXPECT_EQ(written("died in "), "");
  {
    const VendorCall call("running tower_32");
    EXPECT_EQ(written("died in "), "died in training step 7: running tower_32\n");
  }
  EXPECT_EQ(written("died in "), "");
}

class VendorCallDeathTest : public testing::Test {
 protected:
  // The watch needs a process that did not begin as a fork.
  void SetUp() override { testing::FLAGS_gtest_death_test_style = "threadsafe"; }
};

TEST_F(VendorCallDeathTest, ThatNeverReturnsEndsTheProcess) {
  EXPECT_EXIT(
      {
        setenv("LOCKSTEP_VENDOR_TIMEOUT", "1", 1);
        const Activity step("training step {}", 7);
        const VendorCall call("running tower_32");
        std::this_thread::sleep_for(60s);
      },
      testing::ExitedWithCode(70),
      "^lockstep: foreign code did not come back for 1 s: training step 7: running tower_32\\. The "
      "process ends; [^\n]*--resume\\. LOCKSTEP_VENDOR_TIMEOUT sets the limit\n$");
}

TEST_F(VendorCallDeathTest, ThatReturnsInTimeDoesNot) {
  EXPECT_EXIT(
      {
        setenv("LOCKSTEP_VENDOR_TIMEOUT", "0.8", 1);
        for (int i = 0; i < 12; ++i) {
          const VendorCall call("short");
          std::this_thread::sleep_for(100ms);
        }
        const Activity ours("may take as long as it likes");
        std::this_thread::sleep_for(1s);
        std::_Exit(0);
      },
      testing::ExitedWithCode(0), "^$");
}

TEST_F(VendorCallDeathTest, MayTakeForEverWhereTheLimitIsZero) {
  EXPECT_EXIT(
      {
        setenv("LOCKSTEP_VENDOR_TIMEOUT", "0", 1);
        const VendorCall call("long");
        std::this_thread::sleep_for(300ms);
        std::_Exit(0);
      },
      testing::ExitedWithCode(0), "^$");
}

}  // namespace
}  // namespace lockstep
