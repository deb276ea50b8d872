#include "lockstep/nn/layers/dense.h"

#include "lockstep/nn/layers/layer_of.h"

namespace lockstep {
namespace {

class DenseLayer final : public LayerOf<DenseConfig> {
 public:
  explicit DenseLayer(DenseConfig config) : LayerOf(std::move(config)) {
    if (config_.units < 1) invalid_argument(label(), "`units` must be > 0: {}", config_.units);
  }

  std::vector<Value> call(CallContext& context, const std::vector<Value>& inputs) override {
    Builder& builder = context.builder;
    const Shape& shape = inputs[0].shape();
    if (shape.rank() < 2 || shape.back() != kernel_->shape[0])
      invalid_argument(label(), "the input's last axis must be {}: {} came", kernel_->shape[0],
                       shape.str());
    Value y = builder.matmul(as_float(builder, inputs[0]), context.weight(kernel_));
    if (bias_) y = builder.add(y, context.weight(bias_));
    return {config_.activation.apply(context, y)};
  }

 private:
  void build_variables(const std::vector<TensorSpec>& inputs) override {
    const Shape& shape = inputs[0].shape;
    if (shape.rank() < 2 || shape.back() < 1)
      invalid_argument(label(), "the input must have a last axis of known extent: {} came",
                       shape.str());
    kernel_ =
        add_variable("kernel", {shape.back(), config_.units}, config_.kernel_initializer.get(),
                     config_.kernel_regularizer.get(), config_.kernel_constraint.get());
    if (config_.use_bias)
      bias_ = add_variable("bias", {config_.units}, config_.bias_initializer.get(),
                           config_.bias_regularizer.get(), config_.bias_constraint.get());
  }

  VariablePtr kernel_, bias_;
};

}  // namespace

LayerHandle Dense(DenseConfig config) {
  return LayerHandle(std::make_shared<DenseLayer>(std::move(config)));
}

LayerClass Dense_layer_class(std::string_view summary) {
  return layer_class<DenseLayer>(summary);
}

}  // namespace lockstep
