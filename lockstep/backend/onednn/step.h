// A compiled program is a list of steps over slots of memory.
#pragma once

#include <cstddef>
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
};

}  // namespace lockstep
