#include "lockstep/nn/layers/regularization.h"

#include "lockstep/nn/layers/layer_of.h"

namespace lockstep {
namespace {

class DropoutLayer final : public LayerOf<DropoutConfig> {
 public:
  explicit DropoutLayer(DropoutConfig config) : LayerOf(std::move(config)) {
    if (!(config_.rate >= 0.0 && config_.rate < 1.0))
      invalid_argument(label(), "`rate` must be at least 0 and below 1: {}", config_.rate);
  }

  bool has_build_config() const override { return false; }

  std::vector<Value> call(CallContext& context, const std::vector<Value>& inputs) override {
    const Value x = as_float(context.builder, inputs[0]);
    if (!context.training || config_.rate == 0.0) return {x};
    const CallContext::Random random = context.random(config_.seed);
    return {context.builder
                .dropout(x, random.key, random.first_row, random.train_step,
                         {.rate = config_.rate, .site = context.site})
                .y};
  }
};

class ActivityRegularizationLayer final : public LayerOf<ActivityRegularizationConfig> {
 public:
  explicit ActivityRegularizationLayer(ActivityRegularizationConfig config)
      : LayerOf(std::move(config)) {
    activity_regularizer_ = L1L2(config_.l1, config_.l2);
  }

  bool has_build_config() const override { return false; }

  std::vector<Value> call(CallContext& context, const std::vector<Value>& inputs) override {
    return {as_float(context.builder, inputs[0])};
  }
};

}  // namespace

LayerHandle Dropout(DropoutConfig config) {
  return LayerHandle(std::make_shared<DropoutLayer>(std::move(config)));
}

LayerHandle Dropout(double rate) {
  return Dropout(DropoutConfig{.rate = rate});
}

LayerHandle ActivityRegularization(ActivityRegularizationConfig config) {
  return LayerHandle(std::make_shared<ActivityRegularizationLayer>(std::move(config)));
}

LayerClass Dropout_layer_class(std::string_view summary) {
  return layer_class<DropoutLayer>(summary);
}

LayerClass ActivityRegularization_layer_class(std::string_view summary) {
  return layer_class<ActivityRegularizationLayer>(summary);
}

}  // namespace lockstep
