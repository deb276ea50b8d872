#include "lockstep/nn/layers/convolution.h"

#include "lockstep/nn/layers/layer_of.h"
#include "lockstep/nn/layers/window.h"

namespace lockstep {
namespace {

/// What both layers do: windows, bias and activation.
template <class Config>
class ConvolutionLayer : public LayerOf<Config> {
 public:
  explicit ConvolutionLayer(Config config) : LayerOf<Config>(std::move(config)) {
    const Config& c = this->config_;
    check_positive(*this, "kernel_size", c.kernel_size);
    check_positive(*this, "strides", c.strides);
    check_positive(*this, "dilation_rate", c.dilation_rate);
    check_padding(*this, c.padding);
    if (c.strides != Pair(1) && c.dilation_rate != Pair(1))
      invalid_argument(this->label(), "`strides` and `dilation_rate` must not both be above 1");
  }

 protected:
  Value convolve(CallContext& context, Value x, Value kernel, int64_t groups) const {
    const Config& c = this->config_;
    const Pair span(c.dilation_rate.height * (c.kernel_size.height - 1) + 1,
                    c.dilation_rate.width * (c.kernel_size.width - 1) + 1);
    const WindowPadding padding = window_padding(*this, x.shape(), c.padding, span, c.strides);
    ConvAttrs attrs;
    attrs.strides = {c.strides.height, c.strides.width};
    attrs.dilation = {c.dilation_rate.height, c.dilation_rate.width};
    attrs.pad_low = padding.low;
    attrs.pad_high = padding.high;
    attrs.groups = groups;
    Builder& builder = context.builder;
    Value y = builder.conv2d(as_float(builder, x), kernel, attrs);
    if (bias_) y = builder.add(y, context.weight(bias_));
    return c.activation.apply(context, y);
  }

  void check_channels(const Shape& image, int64_t channels) const {
    check_rank(*this, image, 4);
    if (image.back() != channels)
      invalid_argument(this->label(), "the input must have {} channels: {} came", channels,
                       image.str());
  }

  /// Channels of the image a layer is built for.
  int64_t image_channels(const std::vector<TensorSpec>& inputs) const {
    const Shape& image = inputs[0].shape;
    check_rank(*this, image, 4);
    if (image.back() < 1)
      invalid_argument(this->label(), "the number of channels must be known: {} came", image.str());
    return image.back();
  }

  void add_bias(int64_t channels) {
    const Config& c = this->config_;
    if (c.use_bias)
      bias_ = this->add_variable("bias", {channels}, c.bias_initializer.get(),
                                 c.bias_regularizer.get(), c.bias_constraint.get());
  }

  VariablePtr kernel_, bias_;
};

class Conv2DLayer final : public ConvolutionLayer<Conv2DConfig> {
 public:
  explicit Conv2DLayer(Conv2DConfig config) : ConvolutionLayer(std::move(config)) {
    if (config_.filters < 1)
      invalid_argument(label(), "`filters` must be > 0: {}", config_.filters);
    if (config_.groups < 1) invalid_argument(label(), "`groups` must be > 0: {}", config_.groups);
    check_groups("filters", config_.filters);
  }

  std::vector<Value> call(CallContext& context, const std::vector<Value>& inputs) override {
    check_channels(inputs[0].shape(), kernel_->shape[2] * config_.groups);
    return {convolve(context, inputs[0], context.weight(kernel_), config_.groups)};
  }

 private:
  void build_variables(const std::vector<TensorSpec>& inputs) override {
    const int64_t channels = image_channels(inputs);
    check_groups("input channels", channels);
    kernel_ = add_variable("kernel",
                           {config_.kernel_size.height, config_.kernel_size.width,
                            channels / config_.groups, config_.filters},
                           config_.kernel_initializer.get(), config_.kernel_regularizer.get(),
                           config_.kernel_constraint.get());
    add_bias(config_.filters);
  }

  void check_groups(std::string_view what, int64_t count) const {
    if (count % config_.groups != 0)
      invalid_argument(label(), "`groups` must divide the {}: {} groups, {} {}", what,
                       config_.groups, count, what);
  }
};

class DepthwiseConv2DLayer final : public ConvolutionLayer<DepthwiseConv2DConfig> {
 public:
  explicit DepthwiseConv2DLayer(DepthwiseConv2DConfig config)
      : ConvolutionLayer(std::move(config)) {
    if (config_.depth_multiplier < 1)
      invalid_argument(label(), "`depth_multiplier` must be > 0: {}", config_.depth_multiplier);
  }

  std::vector<Value> call(CallContext& context, const std::vector<Value>& inputs) override {
    const Shape& shape = kernel_->shape;
    check_channels(inputs[0].shape(), shape[2]);
    // As many groups as channels, each of one channel: HWIO is [h, w, 1, channels * multiplier].
    const Value kernel = context.builder.reshape(context.weight(kernel_),
                                                 {shape[0], shape[1], 1, shape[2] * shape[3]});
    return {convolve(context, inputs[0], kernel, shape[2])};
  }

 private:
  void build_variables(const std::vector<TensorSpec>& inputs) override {
    const int64_t channels = image_channels(inputs);
    kernel_ = add_variable(
        "kernel",
        {config_.kernel_size.height, config_.kernel_size.width, channels, config_.depth_multiplier},
        config_.depthwise_initializer.get(), config_.depthwise_regularizer.get(),
        config_.depthwise_constraint.get());
    add_bias(channels * config_.depth_multiplier);
  }
};

}  // namespace

LayerHandle Conv2D(Conv2DConfig config) {
  return LayerHandle(std::make_shared<Conv2DLayer>(std::move(config)));
}

LayerHandle DepthwiseConv2D(DepthwiseConv2DConfig config) {
  return LayerHandle(std::make_shared<DepthwiseConv2DLayer>(std::move(config)));
}

LayerClass Conv2D_layer_class(std::string_view summary) {
  return layer_class<Conv2DLayer>(summary);
}

LayerClass DepthwiseConv2D_layer_class(std::string_view summary) {
  return layer_class<DepthwiseConv2DLayer>(summary);
}

}  // namespace lockstep
