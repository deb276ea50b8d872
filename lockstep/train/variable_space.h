// All variables of connected models in one flat array, where devices read and update them.
#pragma once

#include <unordered_map>
#include <vector>

#include "lockstep/nn/variable.h"

namespace lockstep {

/// Each variable starts at a multiple of 16 elements; the gaps are zero and stay zero.
class VariableSpace {
 public:
  /// All variables hold values (see Network::initialize); they are copied in.
  explicit VariableSpace(std::vector<VariablePtr> variables);

  int64_t offset(const Variable& variable) const;
  float* data() { return reinterpret_cast<float*>(storage_.data()); }
  const float* data() const { return reinterpret_cast<const float*>(storage_.data()); }
  int64_t size() const { return size_; }
  const std::vector<VariablePtr>& variables() const { return variables_; }

  /// Whether another model, a file or a caller has changed a variable since it was last taken up.
  bool is_outdated() const;
  /// Takes up the newest values of variables that were changed elsewhere.
  void pull();
  /// Says that `holder`, whose memory this space is, has changed a variable: it is the newest now.
  void claim(Variable& variable, VariableHolder& holder);
  /// Copies what `holder` holds newest into the variables' own tensors, and lets go of it.
  void settle(const VariableHolder& holder);

  /// Grows whenever values changed: prologues of programs that read them must run again.
  uint64_t version() const { return version_; }
  void touch() { ++version_; }

 private:
  void take_up(Variable& variable);

  std::vector<VariablePtr> variables_;
  struct Place {
    int64_t offset;         // in elements
    uint64_t seen_version;  // of the value that lies there
  };
  std::unordered_map<const Variable*, Place> places_;
  int64_t size_ = 0;
  AlignedBytes storage_;
  uint64_t version_ = 1;
};

/// `n` rounded up to a multiple of 16 elements: one cache line of floats.
inline int64_t round_up_16(int64_t n) {
  return (n + 15) / 16 * 16;
}

}  // namespace lockstep
