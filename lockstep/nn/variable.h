// A weight or a piece of layer state: one tensor with a name, that training changes.
#pragma once

#include <memory>
#include <string>

#include "lockstep/tensor/host_tensor.h"

namespace lockstep {

class Initializer;
class Regularizer;
class Constraint;

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

  int64_t size() const { return shape.size(); }
};

using VariablePtr = std::shared_ptr<Variable>;

}  // namespace lockstep
