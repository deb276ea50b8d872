// One function per built-in model; zoo.cpp lists them.
#pragma once

#include "lockstep/nn/network.h"

namespace lockstep::zoo {

/// Digits of 28 x 28: three convolutions with SELU and dropout, one dense layer. 333,066
/// parameters.
NetworkPtr mnist_cnn_network();
Json mnist_cnn_compile_config();

/// A GAN for images of 28 x 28 in [0, 1], after Radford et al. (2015): "generator", 100 numbers of
/// noise through two transposed convolutions, and a frozen "discriminator" of three convolutions.
NetworkPtr dcgan_network();
/// Adam with learning rate 2e-4 and beta_1 0.5, binary cross-entropy.
Json dcgan_compile_config();

}  // namespace lockstep::zoo
