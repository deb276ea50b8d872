#include "lockstep/nn/layers/convolution.h"

#include <algorithm>

#include "lockstep/nn/layers/layer_of.h"
#include "lockstep/nn/layers/window.h"

namespace lockstep {
namespace {

/// What all of them do: windows, bias and activation.
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
    ConvAttrs attrs = windows_over(x.shape());
    attrs.groups = groups;
    Builder& builder = context.builder;
    return finish(context, builder.conv2d(as_float(builder, x), kernel, attrs));
  }

  /// What a window spans, dilation included.
  Pair span() const {
    const Config& c = this->config_;
    return {c.dilation_rate.height * (c.kernel_size.height - 1) + 1,
            c.dilation_rate.width * (c.kernel_size.width - 1) + 1};
  }

  ConvAttrs windows_over(const Shape& image) const {
    const Config& c = this->config_;
    const WindowPadding padding = window_padding(*this, image, c.padding, span(), c.strides);
    ConvAttrs attrs;
    attrs.strides = {c.strides.height, c.strides.width};
    attrs.dilation = {c.dilation_rate.height, c.dilation_rate.width};
    attrs.pad_low = padding.low;
    attrs.pad_high = padding.high;
    return attrs;
  }

  Value finish(CallContext& context, Value y) const {
    if (bias_) y = context.builder.add(y, context.weight(bias_));
    return this->config_.activation.apply(context, y);
  }

  void check_filters(int64_t filters) const {
    if (filters < 1) invalid_argument(this->label(), "`filters` must be > 0: {}", filters);
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
    check_filters(config_.filters);
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

class Conv2DTransposeLayer final : public ConvolutionLayer<Conv2DTransposeConfig> {
 public:
  explicit Conv2DTransposeLayer(Conv2DTransposeConfig config)
      : ConvolutionLayer(std::move(config)) {
    check_filters(config_.filters);
    const auto& extra = config_.output_padding;
    if (extra && (extra->height < 0 || extra->width < 0 ||
                  extra->height >= config_.strides.height || extra->width >= config_.strides.width))
      invalid_argument(label(), "`output_padding` must be >= 0 and below `strides`: {} came for {}",
                       pair_text(*extra), pair_text(config_.strides));
  }

  std::vector<Value> call(CallContext& context, const std::vector<Value>& inputs) override {
    const Shape& image = inputs[0].shape();
    check_channels(image, kernel_->shape[3]);
    const Pair window = span();
    const auto extra = [&](int64_t Pair::*axis) {
      const auto& padding = config_.output_padding;
      return padding ? std::optional((*padding).*axis) : std::nullopt;
    };
    const Shape result{
        image[0], extent(image[1], window.height, config_.strides.height, extra(&Pair::height)),
        extent(image[2], window.width, config_.strides.width, extra(&Pair::width)),
        config_.filters};
    if (result[1] < 1 || result[2] < 1)
      invalid_argument(label(),
                       "nothing would be left of an image {} with padding \"{}\" and "
                       "output_padding {}",
                       image.str(), config_.padding, pair_text(*config_.output_padding));
    // The convolution that would take the result's images to these.
    ConvAttrs attrs = windows_over(result);
    attrs.shape = result;
    Builder& builder = context.builder;
    return {finish(context, builder.conv2d_input_gradient(as_float(builder, inputs[0]),
                                                          context.weight(kernel_), attrs))};
  }

 private:
  void build_variables(const std::vector<TensorSpec>& inputs) override {
    kernel_ = add_variable("kernel",
                           {config_.kernel_size.height, config_.kernel_size.width, config_.filters,
                            image_channels(inputs)},
                           config_.kernel_initializer.get(), config_.kernel_regularizer.get(),
                           config_.kernel_constraint.get());
    add_bias(config_.filters);
  }

  int64_t extent(int64_t in, int64_t window, int64_t stride,
                 std::optional<int64_t> output_padding) const {
    const bool is_same = config_.padding == "same";
    if (!output_padding) return in * stride + (is_same ? 0 : std::max<int64_t>(window - stride, 0));
    return (in - 1) * stride + (is_same ? window % 2 : window) + *output_padding;
  }

  static std::string pair_text(const Pair& pair) {
    return fmt::format("({}, {})", pair.height, pair.width);
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

LayerHandle Conv2DTranspose(Conv2DTransposeConfig config) {
  return LayerHandle(std::make_shared<Conv2DTransposeLayer>(std::move(config)));
}

LayerHandle DepthwiseConv2D(DepthwiseConv2DConfig config) {
  return LayerHandle(std::make_shared<DepthwiseConv2DLayer>(std::move(config)));
}

LayerClass Conv2D_layer_class(std::string_view summary) {
  return layer_class<Conv2DLayer>(summary);
}

LayerClass Conv2DTranspose_layer_class(std::string_view summary) {
  return layer_class<Conv2DTransposeLayer>(summary);
}

LayerClass DepthwiseConv2D_layer_class(std::string_view summary) {
  return layer_class<DepthwiseConv2DLayer>(summary);
}

}  // namespace lockstep
