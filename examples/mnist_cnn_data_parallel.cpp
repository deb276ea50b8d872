// A convolutional network on 28x28 images, trained on two devices at once.
#include "lockstep/lockstep.h"

namespace ls = lockstep;

ls::Model make_model() {
  const auto input = ls::Input({28, 28, 1});
  auto x = input;
  for (const int64_t filters : {16, 32, 64}) {
    x = ls::Conv2D({.filters = filters, .kernel_size = 3, .activation = "selu"})(x);
    x = ls::Dropout({.rate = 0.3})(x);
  }
  return ls::Model(input, ls::Dense({.units = 10, .activation = "softmax"})(ls::Flatten()(x)));
}

int main() {
  const auto train = ls::one_hot_targets(ls::open_source("fashion-mnist", ls::Part::kTrain), 10);
  const auto test = ls::one_hot_targets(ls::open_source("fashion-mnist", ls::Part::kTest), 10);
  auto model = make_model();
  model.compile({.optimizer = "adam", .loss = "categorical_crossentropy", .metrics = {"accuracy"}});
  model.fit(train, {.batch_size = 256, .epochs = 10, .devices = "cpu:2", .validation_data = test});
  model.save("mnist_cnn.keras");
}
