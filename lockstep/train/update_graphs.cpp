#include "lockstep/train/update_graphs.h"

#include "lockstep/autodiff/vjp.h"
#include "lockstep/nn/update_rules.h"

namespace lockstep {
namespace {

struct GraphMaker {
  std::unique_ptr<Graph> graph = std::make_unique<Graph>();
  Builder builder{*graph};

  Value vector(const char* name, int64_t n) {
    return builder.parameter({DType::kF32, {n}}, name, ParameterRole::kData);
  }
  Value scalar(const char* name) {
    return builder.parameter({DType::kF32, {}}, name, ParameterRole::kScalar);
  }
  std::unique_ptr<Graph> finish(std::initializer_list<Value> results) {
    for (const Value& value : results) graph->add_result(value);
    return std::move(graph);
  }
};

Value clip(Builder& b, const OptimizerConfig& config, Value gradient, Value squared_norm) {
  switch (clip_mode(config)) {
    case ClipMode::kNone:
      return gradient;
    case ClipMode::kNorm:
      return clip_by_norm(b, gradient, squared_norm, *config.clipnorm);
    case ClipMode::kGlobalNorm:
      return b.multiply(gradient,
                        clip_by_global_norm_scale(b, squared_norm, *config.global_clipnorm));
    case ClipMode::kValue:
      return clip_by_value(b, gradient, *config.clipvalue);
  }
  check_failed("a known clip mode", __FILE__, __LINE__);
}

}  // namespace

ClipMode clip_mode(const OptimizerConfig& config) {
  if (config.clipnorm && *config.clipnorm > 0) return ClipMode::kNorm;
  if (config.global_clipnorm && *config.global_clipnorm > 0) return ClipMode::kGlobalNorm;
  if (config.clipvalue && *config.clipvalue > 0) return ClipMode::kValue;
  return ClipMode::kNone;
}

Penalised penalise(Builder& b, const Regularizer& regularizer, Value weight, Value gradient) {
  const Value penalty = regularizer.elementwise(b, weight);
  const Value slope = gradients(b, {{penalty, b.like(penalty, 1.0)}}, {weight})[0];
  return {slope.valid() ? b.add(gradient, slope) : gradient, penalty};
}

Optimizer::Result apply_optimizer(const Optimizer& optimizer, Optimizer::Args args,
                                  Value squared_norm) {
  Builder& b = args.builder;
  args.gradient = clip(b, optimizer.common, args.gradient, squared_norm);
  if (const auto& decay = optimizer.common.weight_decay)
    args.weight = decay_weight(b, args.weight, args.learning_rate, *decay);
  Optimizer::Result result = optimizer.update(args);
  LOCKSTEP_CHECK(result.slots.size() == args.slots.size());
  return result;
}

Value move_average(Builder& b, double momentum, Value moving, Value statistic, Value count) {
  return b.add(b.multiply(moving, momentum),
               b.multiply(b.divide(statistic, count), 1.0 - momentum));
}

std::unique_ptr<Graph> penalty_graph(const Regularizer& regularizer, int64_t n) {
  GraphMaker m;
  const Value weight = m.vector("weight", n), gradient = m.vector("gradient", n);
  const Penalised sum = penalise(m.builder, regularizer, weight, gradient);
  return m.finish({sum.gradient, m.builder.reduce_sum(sum.penalty, {0})});
}

std::unique_ptr<Graph> square_sum_graph(int64_t n) {
  GraphMaker m;
  const Value gradient = m.vector("gradient", n);
  return m.finish({m.builder.reduce_sum(m.builder.square(gradient), {0})});
}

std::unique_ptr<Graph> accumulate_graph(int64_t steps, int64_t n) {
  GraphMaker m;
  const Value gradient = m.vector("gradient", n), accumulator = m.vector("accumulator", n);
  return m.finish({steps > 1 ? accumulated_mean(m.builder, gradient, accumulator, steps)
                             : m.builder.add(gradient, accumulator)});
}

std::unique_ptr<Graph> apply_graph(const Optimizer& optimizer, int64_t n) {
  GraphMaker m;
  Builder& b = m.builder;
  Optimizer::Args args{b,  m.vector("weight", n),     m.vector("gradient", n),
                       {}, m.scalar("learning_rate"), m.scalar("updates")};
  const Value squared_norm = m.scalar("squared_norm");
  for (const SlotSpec& slot : optimizer.slots())
    args.slots.push_back(m.vector(slot.name.c_str(), n));
  const Optimizer::Result result = apply_optimizer(optimizer, args, squared_norm);
  m.graph->add_result(result.weight);
  for (const Value& slot : result.slots) m.graph->add_result(slot);
  return std::move(m.graph);
}

std::unique_ptr<Graph> average_graph(double momentum, int64_t n) {
  GraphMaker m;
  const Value weight = m.vector("weight", n), average = m.vector("average", n);
  return m.finish(
      {moving_average_of_weight(m.builder, average, weight, m.scalar("iterations"), momentum)});
}

std::unique_ptr<Graph> moving_average_graph(double momentum, int64_t n) {
  GraphMaker m;
  Builder& b = m.builder;
  const Value moving = m.vector("moving", n), statistic = m.vector("statistic", n);
  const Value count = m.scalar("count");
  return m.finish({move_average(b, momentum, moving, statistic, count)});
}

std::unique_ptr<Graph> constraint_graph(const Constraint& constraint, const Shape& shape) {
  GraphMaker m;
  const Value weight = m.builder.parameter({DType::kF32, shape}, "weight", ParameterRole::kData);
  return m.finish({constraint.apply(m.builder, weight)});
}

}  // namespace lockstep
