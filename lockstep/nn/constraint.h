// Constraints: a function of one whole variable, applied after each update.
#pragma once

#include <memory>

#include "lockstep/ir/builder.h"
#include "lockstep/nn/config.h"

namespace lockstep {

class Constraint {
 public:
  virtual ~Constraint() = default;
  virtual std::string_view class_name() const = 0;  // "MaxNorm"
  virtual Json config() const = 0;
  /// The constrained weight; `weight` has the variable's own shape.
  virtual Value apply(Builder& builder, Value weight) const = 0;
};
using ConstraintPtr = std::shared_ptr<const Constraint>;

ConstraintPtr constraint_from_config(const Json& json);  // null for JSON null
Json constraint_to_config(const ConstraintPtr& constraint);

}  // namespace lockstep
