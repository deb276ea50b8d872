// Steps that run behind another part by part: what is joined, what is not, and in which order the
// parts come.
#include <gtest/gtest.h>

#include "lockstep/backend/onednn/step.h"

namespace lockstep {
namespace {

/// Writes i + 1 to element i of slot 1, four elements a part; reads slot 0.
class Count : public LeadingStep {
 public:
  std::vector<int> slots_read() const override { return {0}; }
  int target() const override { return 1; }
  int64_t size() const override { return 12; }
  int64_t grain() const override { return 4; }
  size_t scratch_bytes() const override { return 100; }
  double flops() const override { return 7; }
  std::string describe() const override { return "count"; }
  void run_parts(const Frame& frame, const Completed& completed) const override {
    EXPECT_EQ(frame.scratch[0], std::byte{0}) << "a follower wrote over the leader's scratch";
    for (int64_t i = 0; i < size(); ++i) {
      frame.at<float>(1)[i] = static_cast<float>(i + 1);
      if (i % 4 == 3) completed(i - 3, i + 1);
    }
  }
};

/// Doubles its stream into another slot, and marks its scratch.
class Twice : public FollowingStep {
 public:
  explicit Twice(Slots slots, int64_t size = 12, int64_t grain = 2)
      : slots_(std::move(slots)), size_(size), grain_(grain) {}
  Slots slots() const override { return slots_; }
  int64_t size() const override { return size_; }
  int64_t grain() const override { return grain_; }
  size_t scratch_bytes() const override { return 8; }
  std::string describe() const override { return "twice"; }
  void prepare(const Frame& frame) const override { frame.scratch[0] = std::byte{1}; }
  void run_part(const Frame& frame, int64_t first, int64_t end) const override {
    EXPECT_EQ(frame.scratch[0], std::byte{1});
    for (int64_t i = first; i < end; ++i)
      frame.at<float>(slots_.written[0])[i] = 2 * frame.at<float>(slots_.streams[0])[i];
  }

 private:
  Slots slots_;
  int64_t size_, grain_;
};

std::unique_ptr<Step> joined(std::unique_ptr<Step> follower) {
  std::unique_ptr<Step> leader = std::make_unique<Count>();
  auto step = follow(leader, follower);
  EXPECT_EQ(step == nullptr, leader != nullptr);
  EXPECT_EQ(step == nullptr, follower != nullptr);
  return step;
}

TEST(FollowingSteps, RunPartByPart) {
  const auto step = joined(std::make_unique<Twice>(FollowingStep::Slots{{1}, {3}, {2}}));
  ASSERT_NE(step, nullptr);
  EXPECT_EQ(step->describe(), "count, then twice");
  EXPECT_EQ(step->flops(), 7);
  EXPECT_EQ(step->parts().size(), 2u);
  std::vector<float> memory(36);
  std::vector<std::byte> scratch(step->scratch_bytes());
  std::byte* slots[] = {nullptr, reinterpret_cast<std::byte*>(memory.data()),
                        reinterpret_cast<std::byte*>(memory.data() + 12)};
  step->run({slots, scratch.data(), nullptr});
  for (size_t i = 0; i < 12; ++i) EXPECT_EQ(memory[12 + i], 2.0f * static_cast<float>(i + 1));
}

TEST(FollowingSteps, MayWriteOverWhatTheyFollow) {
  EXPECT_NE(joined(std::make_unique<Twice>(FollowingStep::Slots{{1}, {}, {1}})), nullptr);
}

TEST(FollowingSteps, AreNotJoinedWhereTheyNeedMoreThanAPart) {
  using Slots = FollowingStep::Slots;
  EXPECT_EQ(joined(std::make_unique<Twice>(Slots{{2}, {}, {3}})), nullptr) << "reads another";
  EXPECT_EQ(joined(std::make_unique<Twice>(Slots{{1}, {1}, {2}})), nullptr) << "reads all of it";
  EXPECT_EQ(joined(std::make_unique<Twice>(Slots{{1}, {}, {0}})), nullptr) << "writes its source";
  EXPECT_EQ(joined(std::make_unique<Twice>(Slots{{1}, {}, {2}}, 24)), nullptr) << "longer";
  EXPECT_EQ(joined(std::make_unique<Twice>(Slots{{1}, {}, {2}}, 12, 3)), nullptr) << "grain";
}

}  // namespace
}  // namespace lockstep
