#include "lockstep/nn/layers/activations.h"
#include "lockstep/nn/layers/convolution.h"
#include "lockstep/nn/layers/dense.h"
#include "lockstep/nn/layers/normalization.h"
#include "lockstep/nn/layers/regularization.h"
#include "lockstep/nn/layers/reshaping.h"
#include "lockstep/zoo/models.h"

namespace lockstep::zoo {
namespace {

constexpr int64_t kNoise = 100;

NetworkPtr make_generator() {
  const Tensor noise = Input({kNoise}, {.name = "noise"});
  // Averages that follow quickly: the generator's inference is what the discriminator sees.
  const auto normalised = [](const Tensor& x) {
    return ReLU()(BatchNormalization({.momentum = 0.9})(x));
  };
  Tensor x = Dense({.units = 7 * 7 * 128, .use_bias = false})(noise);
  x = Reshape({.target_shape = {7, 7, 128}})(normalised(x));
  for (const int64_t filters : {64, 32})
    x = normalised(Conv2DTranspose(
        {.filters = filters, .kernel_size = 4, .strides = 2, .padding = "same", .use_bias = false})(
        x));
  x = Conv2D({.filters = 1, .kernel_size = 3, .padding = "same", .activation = "sigmoid"})(x);
  return Network::functional({noise}, {x}, "generator");
}

NetworkPtr make_discriminator() {
  const Tensor image = Input({28, 28, 1}, {.name = "image"});
  Tensor x = image;
  for (const int64_t filters : {32, 64, 128}) {
    x = Conv2D({.filters = filters, .kernel_size = 4, .strides = 2, .padding = "same"})(x);
    x = Dropout({.rate = 0.3})(LeakyReLU({.negative_slope = 0.2})(x));
  }
  x = Dense({.units = 1, .activation = "sigmoid"})(Flatten()(x));
  return Network::functional({image}, {x}, "discriminator");
}

}  // namespace

NetworkPtr dcgan_network() {
  const NetworkPtr generator = make_generator(), discriminator = make_discriminator();
  discriminator->set_trainable(false);
  const Tensor noise = Input({kNoise}, {.name = "gan_noise"});
  return Network::functional({noise}, {LayerHandle(discriminator)(LayerHandle(generator)(noise))},
                             "dcgan");
}

Json dcgan_compile_config() {
  return {{"optimizer",
           {{"module", "keras.optimizers"},
            {"class_name", "Adam"},
            {"config", {{"name", "adam"}, {"learning_rate", 2e-4}, {"beta_1", 0.5}}}}},
          {"loss", "binary_crossentropy"},
          {"loss_weights", nullptr},
          {"metrics", nullptr},
          {"weighted_metrics", nullptr},
          {"run_eagerly", false},
          {"steps_per_execution", 1},
          {"jit_compile", false}};
}

}  // namespace lockstep::zoo
