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

/// Axes over which a norm is taken; one number stands for itself, as in Keras.
struct NormAxes {
  Dims axes{0};
  bool is_list = false;  // written as [0], not 0
  NormAxes() = default;
  NormAxes(int64_t axis) : axes{axis} {}                                        // NOLINT: implicit
  NormAxes(std::initializer_list<int64_t> axes) : axes(axes), is_list(true) {}  // NOLINT: implicit
};

struct MaxNormConfig {
  double max_value = 2.0;
  NormAxes axis = {};
};
struct UnitNormConfig {
  NormAxes axis = {};
};
struct MinMaxNormConfig {
  double min_value = 0.0, max_value = 1.0;
  double rate = 1.0;  // 1: at once; less: so far towards the bounds
  NormAxes axis = {};
};
/// w * clip(norm, 0, max_value) / (norm + 1e-7), norm over `axis`.
ConstraintPtr MaxNorm(MaxNormConfig config = {});
/// max(w, 0).
ConstraintPtr NonNeg();
/// w / (norm + 1e-7).
ConstraintPtr UnitNorm(UnitNormConfig config = {});
/// w * (rate * clip(norm, min_value, max_value) + (1 - rate) * norm) / (norm + 1e-7).
ConstraintPtr MinMaxNorm(MinMaxNormConfig config = {});

/// A name ("max_norm"), a serialised object, or null: no constraint. Throws Unsupported naming what
/// Lockstep lacks.
ConstraintPtr constraint_from_config(const Json& json);
Json constraint_to_config(const ConstraintPtr& constraint);

template <>
ConstraintPtr object_by_name<Constraint>(std::string_view name);

}  // namespace lockstep
