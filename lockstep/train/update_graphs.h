// The graphs of an update: each over one run of a variable's elements, f32[n].
#pragma once

#include <memory>

#include "lockstep/nn/constraint.h"
#include "lockstep/nn/optimizer.h"
#include "lockstep/nn/regularizer.h"

namespace lockstep {

/// How gradients are clipped; at most one of Keras's three options takes effect, in Keras's order
/// (clipnorm, global_clipnorm, clipvalue).
enum class ClipMode { kNone, kNorm, kGlobalNorm, kValue };
ClipMode clip_mode(const OptimizerConfig& config);

/// A weight penalty: the gradient with its slope added, and its value element by element.
struct Penalised {
  Value gradient, penalty;
};
Penalised penalise(Builder& builder, const Regularizer& regularizer, Value weight, Value gradient);

/// Clips the gradient, decays the weight, applies the optimizer's rule.
Optimizer::Result apply_optimizer(const Optimizer& optimizer, Optimizer::Args args,
                                  Value squared_norm);

/// moving * momentum + statistic / count * (1 - momentum)
Value move_average(Builder& builder, double momentum, Value moving, Value statistic, Value count);

/// (weight, gradient) -> (gradient + d penalty / d weight, penalty f32[])
std::unique_ptr<Graph> penalty_graph(const Regularizer& regularizer, int64_t n);

/// (gradient) -> sum of squares f32[]
std::unique_ptr<Graph> square_sum_graph(int64_t n);

/// (gradient, accumulator) -> (sum / steps) where `steps` > 1, else the sum
std::unique_ptr<Graph> accumulate_graph(int64_t steps, int64_t n);

/// (weight, gradient, learning rate f32[], updates f32[], squared norm f32[], slots...) ->
/// (weight, slots...): clip, weight decay, the optimizer's update. The norm is ignored unless
/// gradients are clipped by one.
std::unique_ptr<Graph> apply_graph(const Optimizer& optimizer, int64_t n);

/// (weight, average, iterations f32[], counted in updates) -> average
std::unique_ptr<Graph> average_graph(double momentum, int64_t n);

/// (moving, statistic, count f32[]) -> moving * momentum + statistic / count * (1 - momentum)
std::unique_ptr<Graph> moving_average_graph(double momentum, int64_t n);

/// (weight) -> constrained weight, of the variable's shape
std::unique_ptr<Graph> constraint_graph(const Constraint& constraint, const Shape& shape);

}  // namespace lockstep
