// A compiled program is a list of steps over slots of memory.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <vector>

namespace lockstep {

/// Per-context state of a step that must not be shared between threads (memory objects, streams).
class StepState {
 public:
  virtual ~StepState() = default;
};

/// Where everything is while a program runs on one device.
struct Frame {
  std::byte* const* slots;
  std::byte* scratch;  // shared by all steps, one after another
  StepState* state;    // of the step that runs

  template <class T>
  T* at(int slot) const {
    return reinterpret_cast<T*>(slots[slot]);
  }
};

/// Immutable once built; run by several threads at once, each with its own frame.
class Step {
 public:
  virtual ~Step() = default;
  virtual void run(const Frame& frame) const = 0;
  virtual size_t scratch_bytes() const { return 0; }
  virtual std::unique_ptr<StepState> create_state() const { return nullptr; }
  /// "conv2d f32[32,26,26,16] jit:avx2"
  virtual std::string describe() const = 0;
  /// Multiplications and additions of a contraction; 0 for anything else.
  virtual double flops() const { return 0; }
  /// What can be run and timed alone.
  virtual std::vector<const Step*> parts() const { return {this}; }
};

/// A step that yields one tensor part by part, in memory's order within each, and can say when a
/// part is done.
class LeadingStep : public Step {
 public:
  virtual std::vector<int> slots_read() const = 0;
  virtual int target() const = 0;
  virtual int64_t size() const = 0;   // elements of the target
  virtual int64_t grain() const = 0;  // parts begin and end at multiples of it
  /// Elements [first, end) of the target are as they stay.
  using Completed = std::function<void(int64_t first, int64_t end)>;
  virtual void run_parts(const Frame& frame, const Completed& completed) const = 0;
  void run(const Frame& frame) const override {
    run_parts(frame, [](int64_t, int64_t) {});
  }
};

/// A step whose elements [first, end), in memory's order, need those of its streams alone. It may
/// run part by part behind a LeadingStep, while what that wrote is in a cache.
class FollowingStep : public Step {
 public:
  struct Slots {
    std::vector<int> streams;  // read element by element
    std::vector<int> whole;    // read before the first part or anywhere
    std::vector<int> written;
  };
  virtual Slots slots() const = 0;
  virtual int64_t size() const = 0;
  virtual int64_t grain() const = 0;
  virtual void prepare(const Frame& frame) const = 0;
  virtual void run_part(const Frame& frame, int64_t first, int64_t end) const = 0;
  void run(const Frame& frame) const override {
    prepare(frame);
    run_part(frame, 0, size());
  }
};

/// `follower` behind `leader`, part by part. Null, with both left as they are, where the follower
/// needs more than the part that is done or writes what the leader reads.
std::unique_ptr<Step> follow(std::unique_ptr<Step>& leader, std::unique_ptr<Step>& follower);

}  // namespace lockstep
