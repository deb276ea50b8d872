// A small training with everything that has a state: what the tests of resuming stop and go on.
#pragma once

#include <filesystem>
#include <string>

#include "lockstep/formats/event_file.h"
#include "lockstep/lockstep.h"
#include "tests/train/train_test_util.h"

namespace lockstep {

/// Dropout, batch normalization, a penalty, a constraint; Adam with averages and accumulation.
inline Model make_model() {
  const Tensor x = Input({6, 6, 2});
  Tensor h = Conv2D({.filters = 4, .kernel_size = 3, .kernel_regularizer = "l2"})(x);
  h = BatchNormalization(BatchNormalizationConfig{})(h);
  h = Activation({.activation = "relu"})(h);
  h = Dropout({.rate = 0.3})(h);
  h = Flatten(FlattenConfig{})(h);
  const Tensor y = Dense({.units = 5, .activation = "softmax", .kernel_constraint = "max_norm"})(h);
  Model model(x, y, "net");
  model.compile_from_config(
      {{"optimizer",
        {{"class_name", "Adam"},
         {"config",
          {{"learning_rate", 0.01}, {"use_ema", true}, {"gradient_accumulation_steps", 3}}}}},
       {"loss", "sparse_categorical_crossentropy"},
       {"metrics", {"accuracy"}}});
  return model;
}

inline DatasetPtr make_data(int64_t rows, uint64_t seed) {
  return dataset(noise({rows, 6, 6, 2}, seed), labels(rows, 5, seed));
}

/// 9 epochs of 5 steps, the last of 22 rows, in towers of 8; all callbacks that write or remember.
inline FitArguments make_arguments(const std::filesystem::path& folder) {
  FitArguments arguments{.batch_size = 32, .epochs = 9, .seed = 5, .verbose = 0};
  arguments.tower_size = 8;
  arguments.validation_data = make_data(40, 2);
  arguments.run = folder / "run";
  arguments.resume = true;
  arguments.checkpoint_every = 2;
  arguments.callbacks = {
      ReduceLROnPlateau({.factor = 0.5, .patience = 1}),
      EarlyStopping({.patience = 4, .restore_best_weights = true}),
      CSVLogger({.filename = folder / "log.csv"}),
      ModelCheckpoint({.filepath = folder / "best.keras", .save_best_only = true}),
      TensorBoard({.log_dir = folder / "board", .update_freq = 2})};
  return arguments;
}

/// All that the training left, as text: weights, optimizer, history, losses and logs.
inline std::string outcome(Model& model, const History& history,
                           const std::filesystem::path& folder) {
  std::string text;
  const auto add = [&](const HostTensor& tensor) {
    text += sha256_hex({reinterpret_cast<const char*>(tensor.bytes()), tensor.size_bytes()}) + "\n";
  };
  for (const HostTensor& weight : model.get_weights()) add(weight);
  const OptimizerState state = model.optimizer_state();
  text += fmt::format("{} {}\n", state.iterations, state.learning_rate.value_or(0));
  for (const OptimizerVariable& variable : state.variables) add(variable.value);
  for (double loss : history.step_losses) text += fmt::format("{:a} ", loss);
  text += "\n" + dump_json(history.state()) + "\n";
  for (const char* file : {"log.csv", "run/history.csv"}) text += read_file(folder / file);
  text += sha256_hex(read_file(folder / "best.keras")) + "\n";
  for (const char* part : {"train", "validation"})
    for (const auto& entry : std::filesystem::directory_iterator(folder / "board" / part))
      for (const ScalarEvent& event : read_events(entry.path()))
        text += fmt::format("{} {} {} {:a}\n", part, event.tag, event.step, event.value);
  return text;
}

}  // namespace lockstep
