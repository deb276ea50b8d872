// Named activation functions.
#pragma once

#include <string>
#include <string_view>

#include "lockstep/ir/builder.h"

namespace lockstep {

/// All of Keras 3's activations by name: linear, relu, relu6, elu, selu, leaky_relu, gelu, silu/swish, mish,
/// sigmoid, hard_sigmoid, hard_silu, log_sigmoid, softplus, softsign, tanh, tanh_shrink, hard_tanh,
/// hard_shrink, soft_shrink, squareplus, celu, glu, exponential, softmax, log_softmax, sparsemax, ...
/// Unknown: Unsupported naming it and the closest.
Value activation(Builder& builder, std::string_view name, Value x);
bool is_known_activation(std::string_view name);

}  // namespace lockstep
