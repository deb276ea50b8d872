// One function per built-in model; zoo.cpp lists them.
#pragma once

#include "lockstep/nn/config.h"

namespace lockstep::zoo {

/// Digits of 28 x 28: three convolutions with SELU and dropout, one dense layer. 333,066
/// parameters.
Json mnist_cnn_network();
Json mnist_cnn_compile_config();

}  // namespace lockstep::zoo
