// A weight or a piece of layer state: one tensor with a name, that training changes.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <utility>

#include "lockstep/tensor/host_tensor.h"

namespace lockstep {

class Initializer;
class Regularizer;
class Constraint;

struct Variable;

/// Memory in which a model's training changes variables, while their own tensors lag behind.
class VariableHolder {
 public:
  virtual ~VariableHolder() = default;
  /// Copies the newest values of variables it holds into their tensors and lets go of them. Throws
  /// what reading a device's memory throws.
  virtual void settle() = 0;
};

/// Models may share it. Whoever changed it last holds it; the others take up its value before their
/// next step, because they see another version.
struct Variable {
  std::string name;  // "kernel"
  std::string path;  // "dense/kernel": unique in a model after build; names optimizer slots
  Shape shape;
  DType dtype = DType::kF32;
  bool is_trainable = true;  // false: layer state such as moving_mean, whatever the layer's flag
  std::shared_ptr<const Initializer> initializer;
  std::shared_ptr<const Regularizer> regularizer;  // may be null
  std::shared_ptr<const Constraint> constraint;    // may be null
  HostTensor value;                                // empty until initialised or loaded

  uint64_t version = 0;              // grows whenever the value changes
  VariableHolder* holder = nullptr;  // has a newer value than `value`; null: `value` is the newest

  int64_t size() const { return shape.size(); }
  /// The newest value, wherever it was. Throws as `VariableHolder::settle`.
  const HostTensor& current() {
    if (holder != nullptr) holder->settle();
    return value;
  }
  /// All models that have the variable take this up.
  void set(HostTensor newest) {
    value = std::move(newest);
    holder = nullptr;
    ++version;
  }
};

using VariablePtr = std::shared_ptr<Variable>;

}  // namespace lockstep
