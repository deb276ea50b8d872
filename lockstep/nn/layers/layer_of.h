// A layer made from a configuration struct: what every family file builds its layers on.
#pragma once

#include <memory>
#include <utility>

#include "lockstep/nn/layer.h"
#include "lockstep/nn/layer_fields.h"
#include "lockstep/nn/registry.h"

namespace lockstep {

/// `ConfigType` has kClassName, name, trainable, perhaps activity_regularizer, and `visit`.
template <class ConfigType>
class LayerOf : public Layer {
 public:
  using Config = ConfigType;

  explicit LayerOf(Config config) : config_(std::move(config)) {
    name_ = config_.name;
    trainable_ = config_.trainable;
    if constexpr (requires { config_.activity_regularizer; })
      activity_regularizer_ = config_.activity_regularizer.get();
  }
  std::string_view class_name() const override { return Config::kClassName; }
  Json config() const override { return write_config(config_); }

 protected:
  Config config_;
};

/// The registry's row of a layer made from its Config.
template <class LayerType>
LayerClass layer_class(std::string_view summary) {
  using Config = typename LayerType::Config;
  return {Config::kClassName, summary,
          [](const Json& config) -> LayerPtr {
            return std::make_shared<LayerType>(read_config<Config>(config));
          },
          [] { return write_config(Config()); }};
}

/// x as float32: Keras casts integers where a layer computes.
inline Value as_float(Builder& builder, Value x) {
  return is_float(x.dtype()) ? x : builder.convert(x, DType::kF32);
}

/// Throws InvalidArgument naming layer and shape unless the input has this many axes.
void check_rank(const Layer& layer, const Shape& input, int rank);

/// Axis counted from 0; throws InvalidArgument naming the layer unless it is one of the input's and
/// not the batch.
int checked_axis(const Layer& layer, int64_t axis, const Shape& input);

}  // namespace lockstep
