#include "lockstep/train/update_graphs.h"

#include "lockstep/autodiff/vjp.h"

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

Value clip(Builder& b, const OptimizerConfig& config, Value gradient, Value norm) {
  switch (clip_mode(config)) {
    case ClipMode::kNone: return gradient;
    case ClipMode::kNorm:
      return b.divide(b.multiply(gradient, *config.clipnorm), b.maximum(norm, *config.clipnorm));
    case ClipMode::kGlobalNorm: {
      const double limit = *config.global_clipnorm;
      const Value scale = b.multiply(b.minimum(b.divide(1.0, norm), 1.0 / limit), limit);
      // norm - norm is 0 for a finite norm and NaN otherwise, as in Keras: a broken gradient shows.
      return b.multiply(gradient, b.add(scale, b.subtract(norm, norm)));
    }
    case ClipMode::kValue: return b.minimum(b.maximum(gradient, -*config.clipvalue), *config.clipvalue);
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

std::unique_ptr<Graph> penalty_graph(const Regularizer& regularizer, int64_t n) {
  GraphMaker m;
  const Value weight = m.vector("weight", n), gradient = m.vector("gradient", n);
  const Value penalty = regularizer.elementwise(m.builder, weight);
  const Value slope = gradients(m.builder, {{penalty, m.builder.like(penalty, 1.0)}}, {weight})[0];
  return m.finish({slope.valid() ? m.builder.add(gradient, slope) : gradient,
                   m.builder.reduce_sum(penalty, {0})});
}

std::unique_ptr<Graph> square_sum_graph(int64_t n) {
  GraphMaker m;
  const Value gradient = m.vector("gradient", n);
  return m.finish({m.builder.reduce_sum(m.builder.square(gradient), {0})});
}

std::unique_ptr<Graph> accumulate_graph(int64_t steps, int64_t n) {
  GraphMaker m;
  const Value gradient = m.vector("gradient", n), accumulator = m.vector("accumulator", n);
  const Value sum = m.builder.add(gradient, accumulator);
  return m.finish({steps > 1 ? m.builder.divide(sum, static_cast<double>(steps)) : sum});
}

std::unique_ptr<Graph> apply_graph(const Optimizer& optimizer, int64_t n) {
  GraphMaker m;
  Builder& b = m.builder;
  Optimizer::Args args{b, m.vector("weight", n), m.vector("gradient", n), {}, m.scalar("learning_rate"),
                       m.scalar("updates")};
  const Value norm = m.scalar("norm");
  for (const SlotSpec& slot : optimizer.slots()) args.slots.push_back(m.vector(slot.name.c_str(), n));
  args.gradient = clip(b, optimizer.common, args.gradient, norm);
  if (const auto& decay = optimizer.common.weight_decay)
    args.weight = b.subtract(
        args.weight, b.multiply(b.multiply(args.weight, *decay), args.learning_rate));
  const Optimizer::Result result = optimizer.update(args);
  LOCKSTEP_CHECK(result.slots.size() == args.slots.size());
  m.graph->add_result(result.weight);
  for (const Value& slot : result.slots) m.graph->add_result(slot);
  return std::move(m.graph);
}

std::unique_ptr<Graph> average_graph(int64_t n) {
  GraphMaker m;
  Builder& b = m.builder;
  const Value weight = m.vector("weight", n), average = m.vector("average", n);
  const Value momentum = m.scalar("momentum");
  return m.finish({b.add(b.multiply(momentum, average), b.multiply(b.subtract(1.0, momentum), weight))});
}

std::unique_ptr<Graph> moving_average_graph(double momentum, int64_t n) {
  GraphMaker m;
  Builder& b = m.builder;
  const Value moving = m.vector("moving", n), statistic = m.vector("statistic", n);
  const Value count = m.scalar("count");
  return m.finish({b.add(b.multiply(moving, momentum),
                         b.multiply(b.divide(statistic, count), 1.0 - momentum))});
}

std::unique_ptr<Graph> constraint_graph(const Constraint& constraint, const Shape& shape) {
  GraphMaker m;
  const Value weight = m.builder.parameter({DType::kF32, shape}, "weight", ParameterRole::kData);
  return m.finish({constraint.apply(m.builder, weight)});
}

}  // namespace lockstep
