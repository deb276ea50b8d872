#include "lockstep/nn/layers/activations.h"

#include "lockstep/nn/layers/layer_of.h"

namespace lockstep {
namespace {

/// One float tensor in, one out, no variables: `Derived::apply(context, x)`.
template <class Derived, class Config>
class FunctionLayer : public LayerOf<Config> {
 public:
  explicit FunctionLayer(Config config) : LayerOf<Config>(std::move(config)) {}

  bool has_build_config() const override { return false; }

  std::vector<Value> call(CallContext& context, const std::vector<Value>& inputs) override {
    const Value x = as_float(context.builder, inputs[0]);
    return {static_cast<const Derived*>(this)->apply(context, x)};
  }
};

class ActivationLayer final : public FunctionLayer<ActivationLayer, ActivationConfig> {
 public:
  using FunctionLayer::FunctionLayer;
  Value apply(CallContext& context, Value x) const { return config_.activation.apply(context, x); }
};

class ReLULayer final : public FunctionLayer<ReLULayer, ReLUConfig> {
 public:
  explicit ReLULayer(ReLUConfig config) : FunctionLayer(std::move(config)) {
    const bool is_valid = config_.max_value.value_or(0.0) >= 0.0 && config_.negative_slope >= 0.0 &&
                          config_.threshold >= 0.0;
    if (!is_valid)
      invalid_argument(label(),
                       "`max_value`, `negative_slope` and `threshold` must be >= 0: {}, {}, {}",
                       config_.max_value.value_or(0.0), config_.negative_slope, config_.threshold);
  }
  Value apply(CallContext& context, Value x) const {
    return relu_with(context.builder, x,
                     {config_.max_value, config_.negative_slope, config_.threshold});
  }
};

class LeakyReLULayer final : public FunctionLayer<LeakyReLULayer, LeakyReLUConfig> {
 public:
  using FunctionLayer::FunctionLayer;
  Value apply(CallContext& context, Value x) const {
    return relu_with(context.builder, x, {.negative_slope = config_.negative_slope});
  }
};

class ELULayer final : public FunctionLayer<ELULayer, ELUConfig> {
 public:
  using FunctionLayer::FunctionLayer;
  Value apply(CallContext& context, Value x) const {
    return context.builder.elu(x, {.alpha = config_.alpha, .scale = 1.0});
  }
};

class SoftmaxLayer final : public FunctionLayer<SoftmaxLayer, SoftmaxConfig> {
 public:
  using FunctionLayer::FunctionLayer;
  Value apply(CallContext& context, Value x) const {
    return context.builder.softmax(x, checked_axis(*this, config_.axis, x.shape()));
  }
};

}  // namespace

LayerHandle Activation(ActivationConfig config) {
  return LayerHandle(std::make_shared<ActivationLayer>(std::move(config)));
}

LayerHandle Activation(const char* activation) {
  return Activation(ActivationConfig{.activation = activation});
}

LayerHandle ReLU(ReLUConfig config) {
  return LayerHandle(std::make_shared<ReLULayer>(std::move(config)));
}

LayerHandle LeakyReLU(LeakyReLUConfig config) {
  return LayerHandle(std::make_shared<LeakyReLULayer>(std::move(config)));
}

LayerHandle ELU(ELUConfig config) {
  return LayerHandle(std::make_shared<ELULayer>(std::move(config)));
}

LayerHandle Softmax(SoftmaxConfig config) {
  return LayerHandle(std::make_shared<SoftmaxLayer>(std::move(config)));
}

LayerClass Activation_layer_class(std::string_view summary) {
  return layer_class<ActivationLayer>(summary);
}

LayerClass ReLU_layer_class(std::string_view summary) {
  return layer_class<ReLULayer>(summary);
}

LayerClass LeakyReLU_layer_class(std::string_view summary) {
  return layer_class<LeakyReLULayer>(summary);
}

LayerClass ELU_layer_class(std::string_view summary) {
  return layer_class<ELULayer>(summary);
}

LayerClass Softmax_layer_class(std::string_view summary) {
  return layer_class<SoftmaxLayer>(summary);
}

}  // namespace lockstep
