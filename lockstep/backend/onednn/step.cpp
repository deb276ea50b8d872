#include "lockstep/backend/onednn/step.h"

#include <algorithm>

namespace lockstep {
namespace {

class FollowedStep : public Step {
 public:
  FollowedStep(std::unique_ptr<Step> leader, std::unique_ptr<Step> follower)
      : leader_step_(std::move(leader)),
        follower_step_(std::move(follower)),
        leader_(static_cast<const LeadingStep&>(*leader_step_)),
        follower_(static_cast<const FollowingStep&>(*follower_step_)),
        follower_scratch_((leader_.scratch_bytes() + 63) / 64 * 64) {}

  size_t scratch_bytes() const override { return follower_scratch_ + follower_.scratch_bytes(); }
  void run(const Frame& frame) const override {
    const Frame behind{frame.slots, frame.scratch + follower_scratch_, nullptr};
    follower_.prepare(behind);
    leader_.run_parts(frame,
                      [&](int64_t first, int64_t end) { follower_.run_part(behind, first, end); });
  }
  std::string describe() const override {
    return leader_.describe() + ", then " + follower_.describe();
  }
  double flops() const override { return leader_.flops(); }
  std::unique_ptr<StepState> create_state() const override { return leader_.create_state(); }
  std::vector<const Step*> parts() const override { return {&leader_, &follower_}; }

 private:
  std::unique_ptr<Step> leader_step_, follower_step_;
  const LeadingStep& leader_;
  const FollowingStep& follower_;
  size_t follower_scratch_;
};

bool contains(const std::vector<int>& slots, int slot) {
  return std::find(slots.begin(), slots.end(), slot) != slots.end();
}

bool can_follow(const LeadingStep& leader, const FollowingStep& follower) {
  const FollowingStep::Slots slots = follower.slots();
  const std::vector<int> read = leader.slots_read();
  return follower.size() == leader.size() && leader.grain() % follower.grain() == 0 &&
         contains(slots.streams, leader.target()) && !contains(slots.whole, leader.target()) &&
         std::none_of(slots.written.begin(), slots.written.end(),
                      [&](int slot) { return contains(read, slot); });
}

}  // namespace

std::unique_ptr<Step> follow(std::unique_ptr<Step>& leader, std::unique_ptr<Step>& follower) {
  const auto* leading = dynamic_cast<const LeadingStep*>(leader.get());
  const auto* following = dynamic_cast<const FollowingStep*>(follower.get());
  if (leading == nullptr || following == nullptr || !can_follow(*leading, *following))
    return nullptr;
  return std::make_unique<FollowedStep>(std::move(leader), std::move(follower));
}

}  // namespace lockstep
