// Chains of elementwise ops as one pass over memory: a list of vector instructions run block by
// block, intermediate results in registers of one block each, which stay in the first-level cache.
#pragma once

#include <array>
#include <vector>

#include "lockstep/backend/onednn/pointwise_kernels.h"
#include "lockstep/backend/onednn/step.h"

namespace lockstep {

/// Where an instruction reads or writes.
struct PointRef {
  enum class Kind {
    kRegister,  // index: register
    kStream,    // index: slot; `element_bytes` a element
    kMask,      // index: slot; one u16 for 16 elements
    kTiled,     // index: slot; element i reads source[i % period], copied out before the pass
    kRepeated,  // index: register, filled with source[i / period] at each block
  };
  Kind kind = Kind::kRegister;
  int index = 0;
  int64_t element_bytes = 4;
  bool operator==(const PointRef&) const = default;
};

struct PointInstruction {
  PointFn function;
  std::array<float, 4> params{};
  std::array<int, 3> in{};  // refs
  int out = 0;              // ref
};

/// A broadcast operand prepared before the pass (tiled) or at each block (repeated).
struct PointBroadcast {
  int slot;
  int64_t period;
  size_t scratch_offset;  // of its tile or register
  bool is_repeated;
  bool is_bool;  // bytes become masks
};

struct PointwiseProgram {
  int64_t size = 0;
  int registers = 0;
  std::vector<PointRef> refs;
  std::vector<PointBroadcast> broadcasts;
  std::vector<PointInstruction> instructions;
  size_t scratch_bytes = 0;
  std::string text;
};

constexpr int64_t kPointBlock = 512;  // elements

class PointwiseStep : public FollowingStep {
 public:
  explicit PointwiseStep(PointwiseProgram program);
  Slots slots() const override;
  int64_t size() const override { return program_.size; }
  int64_t grain() const override;
  void prepare(const Frame& frame) const override;
  void run_part(const Frame& frame, int64_t first, int64_t end) const override;
  size_t scratch_bytes() const override { return program_.scratch_bytes; }
  std::string describe() const override { return program_.text; }

 private:
  PointwiseProgram program_;
};

}  // namespace lockstep
