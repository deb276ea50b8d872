#include "lockstep/nn/update_rules.h"

namespace lockstep {

Value clip_by_value(Builder& builder, Value gradient, double limit) {
  return builder.minimum(builder.maximum(gradient, -limit), limit);
}

Value clip_by_norm(Builder& builder, Value gradient, Value squared_norm, double clipnorm) {
  const Value norm = builder.sqrt(squared_norm);
  return builder.divide(builder.multiply(gradient, clipnorm), builder.maximum(norm, clipnorm));
}

Value clip_by_global_norm_scale(Builder& builder, Value squared_norm, double clipnorm) {
  const Value norm = builder.sqrt(squared_norm);
  const Value scale =
      builder.multiply(builder.minimum(builder.divide(1.0, norm), 1.0 / clipnorm), clipnorm);
  // norm - norm is 0, and NaN when the norm is infinite or NaN.
  return builder.add(scale, builder.subtract(norm, norm));
}

Value decay_weight(Builder& builder, Value weight, Value learning_rate, double decay) {
  const Value change = builder.multiply(builder.multiply(weight, decay), learning_rate);
  return builder.subtract(weight, change);
}

Value moving_average_of_weight(Builder& builder, Value average, Value weight, Value iterations,
                               double momentum) {
  const Value is_first = builder.compare(iterations, 0.0, CompareDirection::kEq);
  const Value factor =
      builder.select(is_first, builder.like(iterations, 0), builder.like(iterations, momentum));
  return builder.add(builder.multiply(average, factor),
                     builder.multiply(weight, builder.subtract(1.0, factor)));
}

Value accumulated_mean(Builder& builder, Value gradient, Value accumulated, int64_t steps) {
  return builder.divide(builder.add(gradient, accumulated), static_cast<double>(steps));
}

}  // namespace lockstep
