#include "lockstep/nn/layers/pooling.h"

#include "lockstep/nn/layers/layer_of.h"
#include "lockstep/nn/layers/window.h"

namespace lockstep {
namespace {

template <class Config>
class WindowPoolingLayer final : public LayerOf<Config> {
 public:
  explicit WindowPoolingLayer(Config config) : LayerOf<Config>(std::move(config)) {
    Config& c = this->config_;
    if (!c.strides) c.strides = c.pool_size;
    check_positive(*this, "pool_size", c.pool_size);
    check_positive(*this, "strides", *c.strides);
    check_padding(*this, c.padding);
  }

  bool has_build_config() const override { return false; }

  std::vector<Value> call(CallContext& context, const std::vector<Value>& inputs) override {
    const Config& c = this->config_;
    const Shape& image = inputs[0].shape();
    check_rank(*this, image, 4);
    const WindowPadding padding = window_padding(*this, image, c.padding, c.pool_size, *c.strides);
    PoolAttrs attrs;
    attrs.window = {c.pool_size.height, c.pool_size.width};
    attrs.strides = {c.strides->height, c.strides->width};
    attrs.pad_low = padding.low;
    attrs.pad_high = padding.high;
    const Value x = as_float(context.builder, inputs[0]);
    if constexpr (std::is_same_v<Config, MaxPooling2DConfig>)
      return {context.builder.max_pool2d(x, attrs)};
    else
      return {context.builder.avg_pool2d(x, attrs)};
  }
};

template <class Config>
class GlobalPoolingLayer final : public LayerOf<Config> {
 public:
  explicit GlobalPoolingLayer(Config config) : LayerOf<Config>(std::move(config)) {}

  bool has_build_config() const override { return false; }

  std::vector<Value> call(CallContext& context, const std::vector<Value>& inputs) override {
    Builder& builder = context.builder;
    const Shape& image = inputs[0].shape();
    check_rank(*this, image, 4);
    const Value x = as_float(builder, inputs[0]);
    const Value y = std::is_same_v<Config, GlobalMaxPooling2DConfig>
                        ? builder.reduce_max(x, {1, 2})
                        : builder.reduce_mean(x, {1, 2});
    if (!this->config_.keepdims) return {y};
    return {builder.reshape(y, {image[0], 1, 1, image[3]})};
  }
};

using MaxPooling2DLayer = WindowPoolingLayer<MaxPooling2DConfig>;
using AveragePooling2DLayer = WindowPoolingLayer<AveragePooling2DConfig>;
using GlobalMaxPooling2DLayer = GlobalPoolingLayer<GlobalMaxPooling2DConfig>;
using GlobalAveragePooling2DLayer = GlobalPoolingLayer<GlobalAveragePooling2DConfig>;

}  // namespace

LayerHandle MaxPooling2D(MaxPooling2DConfig config) {
  return LayerHandle(std::make_shared<MaxPooling2DLayer>(std::move(config)));
}

LayerHandle AveragePooling2D(AveragePooling2DConfig config) {
  return LayerHandle(std::make_shared<AveragePooling2DLayer>(std::move(config)));
}

LayerHandle GlobalMaxPooling2D(GlobalMaxPooling2DConfig config) {
  return LayerHandle(std::make_shared<GlobalMaxPooling2DLayer>(std::move(config)));
}

LayerHandle GlobalAveragePooling2D(GlobalAveragePooling2DConfig config) {
  return LayerHandle(std::make_shared<GlobalAveragePooling2DLayer>(std::move(config)));
}

LayerClass MaxPooling2D_layer_class(std::string_view summary) {
  return layer_class<MaxPooling2DLayer>(summary);
}

LayerClass AveragePooling2D_layer_class(std::string_view summary) {
  return layer_class<AveragePooling2DLayer>(summary);
}

LayerClass GlobalMaxPooling2D_layer_class(std::string_view summary) {
  return layer_class<GlobalMaxPooling2DLayer>(summary);
}

LayerClass GlobalAveragePooling2D_layer_class(std::string_view summary) {
  return layer_class<GlobalAveragePooling2DLayer>(summary);
}

}  // namespace lockstep
