// Weight and activity penalties.
#pragma once

#include <memory>

#include "lockstep/ir/builder.h"
#include "lockstep/nn/config.h"

namespace lockstep {

/// l1 * sum(|x|) + l2 * sum(x^2): Keras's L1, L2 and L1L2.
class Regularizer {
 public:
  /// `class_name`: "L1", "L2" or "L1L2".
  Regularizer(std::string class_name, double l1, double l2);
  std::string_view class_name() const { return class_name_; }
  Json config() const;
  /// Penalty of each element, of x's shape; its sum is the penalty.
  Value elementwise(Builder& builder, Value x) const;

  const double l1, l2;

 private:
  std::string class_name_;
};
using RegularizerPtr = std::shared_ptr<const Regularizer>;

RegularizerPtr L1(double l1 = 0.01);
RegularizerPtr L2(double l2 = 0.01);
RegularizerPtr L1L2(double l1 = 0.0, double l2 = 0.0);

/// A name ("l2"), a serialised object, or null: no regularizer. Throws Unsupported naming what
/// Lockstep lacks.
RegularizerPtr regularizer_from_config(const Json& json);
Json regularizer_to_config(const RegularizerPtr& regularizer);

template <>
RegularizerPtr object_by_name<Regularizer>(std::string_view name);

}  // namespace lockstep
