// Built-in models by name.
#pragma once

#include <string_view>
#include <vector>

#include "lockstep/nn/network.h"

namespace lockstep {

/// Names `zoo_model` knows, in alphabetical order.
const std::vector<std::string_view>& zoo_names();

/// A new network, built, its weights not yet initialised. Throws NotFound with the closest name
/// and the list.
NetworkPtr zoo_model(std::string_view name);

/// How the model is meant to be trained: a Keras "compile_config". Throws as `zoo_model`.
Json zoo_compile_config(std::string_view name);

}  // namespace lockstep
