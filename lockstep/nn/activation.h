// Named activation functions, and what a layer's `activation` may be.
#pragma once

#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "lockstep/ir/builder.h"
#include "lockstep/nn/config.h"

namespace lockstep {

class CallContext;
class Layer;
class LayerHandle;

/// Keras 3's activations by name, with their default arguments: linear, relu, relu6, elu, selu,
/// celu, leaky_relu, gelu (exact, by erf), silu or swish, mish, sigmoid, hard_sigmoid, hard_silu,
/// softplus, softsign, squareplus, tanh, tanh_shrink, hard_tanh, hard_shrink, soft_shrink,
/// exponential, log_sigmoid, softmax, log_softmax, sparsemax, sparse_plus, sparse_sigmoid, glu. x
/// is float; those over an axis take the last. Throws Unsupported naming an unknown one and the
/// closest.
Value activation(Builder& builder, std::string_view name, Value x);
bool is_known_activation(std::string_view name);
/// All names, in order of the alphabet.
std::vector<std::string> activation_names();

/// gelu by tanh instead of erf: 0.5 x (1 + tanh(sqrt(2/pi) (x + 0.044715 x^3))).
Value approximate_gelu(Builder& builder, Value x);

/// Keras's relu with all its arguments: below `threshold` negative_slope * (x - threshold), above
/// it x, at most max_value.
struct ReluArguments {
  std::optional<double> max_value = std::nullopt;
  double negative_slope = 0.0;
  double threshold = 0.0;
};
Value relu_with(Builder& builder, Value x, const ReluArguments& arguments);

/// The `activation` of a layer: a name, or a layer such as LeakyReLU without variables.
class ActivationFunction {
 public:
  /// Throws Unsupported naming an unknown activation.
  ActivationFunction(std::string name = "linear");  // NOLINT: implicit
  ActivationFunction(const char* name) : ActivationFunction(std::string(name)) {}  // NOLINT
  ActivationFunction(std::shared_ptr<Layer> layer);  // NOLINT: implicit
  ActivationFunction(const LayerHandle& layer);      // NOLINT: implicit

  /// A name, null (linear), or a serialised layer.
  static ActivationFunction from_json(const Json& json);
  Json to_json() const;

  Value apply(CallContext& context, Value x) const;

 private:
  std::string name_;
  std::shared_ptr<Layer> layer_;
};

inline void to_json(Json& json, const ActivationFunction& activation) {
  json = activation.to_json();
}

}  // namespace lockstep
