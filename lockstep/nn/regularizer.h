// Weight and activity penalties.
#pragma once

#include <memory>

#include "lockstep/ir/builder.h"
#include "lockstep/nn/config.h"

namespace lockstep {

/// l1 * sum(|x|) + l2 * sum(x^2): Keras's L1, L2 and L1L2.
class Regularizer {
 public:
  Regularizer(std::string class_name, double l1, double l2)
      : l1(l1), l2(l2), class_name_(std::move(class_name)) {}
  std::string_view class_name() const { return class_name_; }
  Json config() const;
  /// Penalty of each element, of x's shape; its sum is the penalty.
  Value elementwise(Builder& builder, Value x) const;

  const double l1, l2;

 private:
  std::string class_name_;
};
using RegularizerPtr = std::shared_ptr<const Regularizer>;

RegularizerPtr regularizer_from_config(const Json& json);  // null for JSON null
Json regularizer_to_config(const RegularizerPtr& regularizer);

}  // namespace lockstep
