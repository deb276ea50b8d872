#include "lockstep/nn/layers/normalization.h"

#include "lockstep/nn/layers/layer_of.h"

namespace lockstep {
namespace {

/// All axes but one.
Dims axes_without(int rank, int axis) {
  Dims axes;
  for (int i = 0; i < rank; ++i)
    if (i != axis) axes.push_back(i);
  return axes;
}

/// Moves an axis to the end, or back: a permutation and its inverse.
struct AxisLast {
  AxisLast(int rank, int axis) : there(axes_without(rank, axis)), back(rank) {
    there.push_back(axis);
    for (int i = 0; i < rank; ++i) back[there[i]] = i;
  }
  Dims there, back;
};

class BatchNormalizationLayer final : public LayerOf<BatchNormalizationConfig> {
 public:
  explicit BatchNormalizationLayer(BatchNormalizationConfig config) : LayerOf(std::move(config)) {}

  std::vector<Value> call(CallContext& context, const std::vector<Value>& inputs) override {
    Builder& builder = context.builder;
    const Shape& shape = inputs[0].shape();
    const int axis = checked_axis(*this, config_.axis, shape);
    if (shape[axis] != moving_mean_->shape[0])
      invalid_argument(label(), "axis {} of the input must be {}: {} came", config_.axis,
                       moving_mean_->shape[0], shape.str());
    const Value x = as_float(builder, inputs[0]);
    if (!context.training || !context.trains(*this)) return {by_moving_averages(context, x, axis)};
    if (axis == shape.rank() - 1) return {by_batch(context, x)};
    const AxisLast order(shape.rank(), axis);
    return {builder.transpose(by_batch(context, builder.transpose(x, order.there)), order.back)};
  }

 private:
  void build_variables(const std::vector<TensorSpec>& inputs) override {
    const Shape& shape = inputs[0].shape;
    const Shape channels{shape[checked_axis(*this, config_.axis, shape)]};
    if (config_.scale)
      gamma_ = add_variable("gamma", channels, config_.gamma_initializer.get(),
                            config_.gamma_regularizer.get(), config_.gamma_constraint.get());
    if (config_.center)
      beta_ = add_variable("beta", channels, config_.beta_initializer.get(),
                           config_.beta_regularizer.get(), config_.beta_constraint.get());
    moving_mean_ = add_state("moving_mean", channels, config_.moving_mean_initializer);
    moving_variance_ = add_state("moving_variance", channels, config_.moving_variance_initializer);
  }

  VariablePtr add_state(std::string name, const Shape& shape,
                        const ObjectOrName<Initializer>& initializer) {
    return add_variable(std::move(name), shape, initializer.get(), nullptr, nullptr,
                        /*is_trainable=*/false);
  }

  Value weight_or(CallContext& context, const VariablePtr& variable, double otherwise) const {
    if (variable) return context.weight(variable);
    return context.builder.constant(otherwise, {DType::kF32, moving_mean_->shape});
  }

  Value by_moving_averages(CallContext& context, Value x, int axis) const {
    Builder& builder = context.builder;
    const Value variance = context.weight(moving_variance_);
    Value scale = builder.rsqrt(builder.add(variance, config_.epsilon));
    if (gamma_) scale = builder.multiply(scale, context.weight(gamma_));
    Value shift = builder.negate(builder.multiply(context.weight(moving_mean_), scale));
    if (beta_) shift = builder.add(context.weight(beta_), shift);
    const Dims dimensions{axis};
    return builder.add(builder.multiply(x, builder.broadcast_in_dim(scale, x.shape(), dimensions)),
                       builder.broadcast_in_dim(shift, x.shape(), dimensions));
  }

  /// x: [rows, ..., channels].
  Value by_batch(CallContext& context, Value x) const {
    const int64_t rows = x.shape()[0], channels = x.shape().back();
    const int64_t positions = x.shape().size() / (rows * channels);
    const Normalised normalised = config_.synchronized || context.force_synchronized_batchnorm()
                                      ? by_global_batch(context, x, positions)
                                      : by_tower(context, x);
    const auto count = static_cast<double>(rows * positions);
    const auto update = [&](const VariablePtr& moving, Value statistic) {
      context.update_moving_average(moving, context.builder.multiply(statistic, count),
                                    config_.momentum, positions);
    };
    update(moving_mean_, normalised.mean);
    update(moving_variance_, normalised.variance);
    return normalised.y;
  }

  using Normalised = Builder::BatchNorm;

  Normalised by_tower(CallContext& context, Value x) const {
    const Value gamma = weight_or(context, gamma_, 1.0), beta = weight_or(context, beta_, 0.0);
    return context.builder.batch_norm_training(x, gamma, beta, config_.epsilon);
  }

  Normalised by_global_batch(CallContext& context, Value x, int64_t positions) const {
    Builder& builder = context.builder;
    const Dims axes = axes_without(x.shape().rank(), x.shape().rank() - 1);
    const Value count = builder.multiply(context.global_rows(), static_cast<double>(positions));
    const auto mean_over_batch = [&](Value values) {
      return builder.divide(builder.tower_sum(builder.reduce_sum(values, axes)), count);
    };
    const Value mean = mean_over_batch(x);
    const Value centred = builder.subtract(x, mean);
    const Value variance = mean_over_batch(builder.square(centred));
    Value scale = builder.rsqrt(builder.add(variance, config_.epsilon));
    if (gamma_) scale = builder.multiply(scale, context.weight(gamma_));
    Value y = builder.multiply(centred, scale);
    if (beta_) y = builder.add(y, context.weight(beta_));
    return {y, mean, variance};
  }

  VariablePtr gamma_, beta_, moving_mean_, moving_variance_;
};

}  // namespace

LayerHandle BatchNormalization(BatchNormalizationConfig config) {
  return LayerHandle(std::make_shared<BatchNormalizationLayer>(std::move(config)));
}

LayerClass BatchNormalization_layer_class(std::string_view summary) {
  return layer_class<BatchNormalizationLayer>(summary);
}

}  // namespace lockstep
