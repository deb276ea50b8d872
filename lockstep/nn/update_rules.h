// What an update does around the optimizer's own rule, in Keras's arithmetic: clipping, weight
// decay, moving averages of weights, gradient accumulation. All values f32; lr and norms f32[].
#pragma once

#include "lockstep/ir/builder.h"

namespace lockstep {

/// Elements kept in [-limit, limit] (clipvalue).
Value clip_by_value(Builder& builder, Value gradient, double limit);

/// One variable's gradient cut to a norm of at most `clipnorm`:
/// gradient * clipnorm / max(norm, clipnorm), as tf.clip_by_norm rounds it.
Value clip_by_norm(Builder& builder, Value gradient, Value squared_norm, double clipnorm);

/// The factor for every gradient when their common norm is to be at most `clipnorm`:
/// clipnorm * min(1 / norm, 1 / clipnorm); NaN when the norm is not finite, as in Keras.
Value clip_by_global_norm_scale(Builder& builder, Value squared_norm, double clipnorm);

/// weight - weight * decay * lr. Every trainable weight decays, biases too.
Value decay_weight(Builder& builder, Value weight, Value learning_rate, double decay);

/// momentum * average + (1 - momentum) * weight; at the first step (`iterations` f32[] is 0,
/// counted in updates) the weight itself.
Value moving_average_of_weight(Builder& builder, Value average, Value weight, Value iterations,
                               double momentum);

/// (gradient + accumulated) / steps: the gradient of an update under gradient accumulation.
Value accumulated_mean(Builder& builder, Value gradient, Value accumulated, int64_t steps);

}  // namespace lockstep
