// A GAN on two devices: stopped whenever you like, it goes on where it was, on any number of them.
#include "lockstep/lockstep.h"

namespace ls = lockstep;

ls::Model make_generator() {
  const auto noise = ls::Input({100});
  auto x = ls::Dense({.units = 7 * 7 * 128, .activation = "relu"})(noise);
  x = ls::Reshape({.target_shape = {7, 7, 128}})(x);
  for (const int64_t filters : {64, 32}) {
    x = ls::Conv2DTranspose(
        {.filters = filters, .kernel_size = 4, .strides = 2, .padding = "same"})(x);
    x = ls::ReLU()(ls::BatchNormalization({.momentum = 0.9})(x));
  }
  x = ls::Conv2D({.filters = 1, .kernel_size = 3, .padding = "same", .activation = "sigmoid"})(x);
  return ls::Model(noise, x, "generator");
}

ls::Model make_discriminator() {
  const auto image = ls::Input({28, 28, 1});
  auto x = image;
  for (const int64_t filters : {32, 64, 128}) {
    x = ls::Conv2D({.filters = filters, .kernel_size = 4, .strides = 2, .padding = "same"})(x);
    x = ls::Dropout({.rate = 0.3})(ls::LeakyReLU({.negative_slope = 0.2})(x));
  }
  return ls::Model(image, ls::Dense({.units = 1, .activation = "sigmoid"})(ls::Flatten()(x)),
                   "discriminator");
}

int main() {
  const ls::FitArguments on_two = {.devices = "cpu:2"};
  const int64_t batch = 64;
  const auto images = ls::open_source("fashion-mnist", ls::Part::kTrain);
  const auto real = ls::full({batch, 1}, 1.0f), fake = ls::full({batch, 1}, 0.0f);

  auto generator = make_generator(), discriminator = make_discriminator();
  discriminator.compile({.optimizer = ls::Adam({.learning_rate = 2e-4, .beta_1 = 0.5}),
                         .loss = "binary_crossentropy"});
  discriminator.set_trainable(
      false);  // inside the GAN, compiled next; by itself it goes on learning
  const auto noise = ls::Input({100});
  ls::Model gan(noise, discriminator(generator(noise)), "gan");
  gan.compile({.optimizer = ls::Adam({.learning_rate = 2e-4, .beta_1 = 0.5}),
               .loss = "binary_crossentropy"});

  ls::Run run("gan_run");
  run.add("generator", generator);
  run.add("discriminator", discriminator);
  run.add("gan", gan);
  int64_t& step = run.counter("step");
  run.resume();
  while (step < 2000) {
    const auto z = ls::random_normal({batch, 100}, 1, "discriminator", step);
    const auto made = generator.predict_on_batch(z, {.devices = "cpu:2"})[0].tensor;
    discriminator.train_on_batch(ls::shuffled_batch(images, {.batch_size = batch, .step = step}),
                                 real, on_two);
    discriminator.train_on_batch(made, fake, on_two);
    gan.train_on_batch(ls::random_normal({batch, 100}, 1, "generator", step), real, on_two);
    if (++step % 100 == 0) run.checkpoint(step);
  }
  run.finish();
  generator.save("generator.keras");
}
