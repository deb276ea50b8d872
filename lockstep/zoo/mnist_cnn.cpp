#include "lockstep/zoo/models.h"

namespace lockstep::zoo {
namespace {

Json layer(const char* class_name, Json config) {
  return {{"module", "keras.layers"}, {"class_name", class_name}, {"config", std::move(config)}};
}

}  // namespace

NetworkPtr mnist_cnn_network() {
  Json layers = Json::array();
  layers.push_back(layer(
      "InputLayer",
      {{"batch_shape", {nullptr, 28, 28, 1}}, {"dtype", "float32"}, {"name", "input_layer"}}));
  const char* const suffixes[] = {"", "_1", "_2"};
  for (int i = 0; i < 3; ++i) {
    const std::string suffix = suffixes[i];
    layers.push_back(layer("Conv2D", {{"name", "conv2d" + suffix},
                                      {"filters", 16 << i},
                                      {"kernel_size", {3, 3}},
                                      {"activation", "selu"}}));
    layers.push_back(layer("Dropout", {{"name", "dropout" + suffix}, {"rate", 0.3}}));
  }
  layers.push_back(layer("Flatten", {{"name", "flatten"}}));
  layers.push_back(layer("Dense", {{"name", "dense"}, {"units", 10}, {"activation", "softmax"}}));
  return network_from_config(
      {{"module", "keras"},
       {"class_name", "Sequential"},
       {"config", {{"name", "mnist_cnn"}, {"trainable", true}, {"layers", std::move(layers)}}}});
}

Json mnist_cnn_compile_config() {
  return {{"optimizer", "adam"},         {"loss", "categorical_crossentropy"},
          {"loss_weights", nullptr},     {"metrics", Json::array({"accuracy"})},
          {"weighted_metrics", nullptr}, {"run_eagerly", false},
          {"steps_per_execution", 1},    {"jit_compile", false}};
}

}  // namespace lockstep::zoo
