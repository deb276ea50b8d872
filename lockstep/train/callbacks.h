// Keras's callbacks, by Keras's names and defaults.
#pragma once

#include <functional>
#include <optional>
#include <string>

#include "lockstep/train/callback.h"

namespace lockstep {

struct EarlyStoppingConfig {
  std::string monitor = "val_loss";
  double min_delta = 0;  // its sign does not count
  int64_t patience = 0;
  std::string mode = "auto";  // auto, min, max
  std::optional<double> baseline = std::nullopt;
  bool restore_best_weights = false;
  int64_t start_from_epoch = 0;
};
CallbackPtr EarlyStopping(EarlyStoppingConfig config = {});

struct ReduceLROnPlateauConfig {
  std::string monitor = "val_loss";
  double factor = 0.1;
  int64_t patience = 10;
  std::string mode = "auto";
  double min_delta = 1e-4;
  int64_t cooldown = 0;
  double min_lr = 0;
};
/// Adds `learning_rate` to the logs.
CallbackPtr ReduceLROnPlateau(ReduceLROnPlateauConfig config = {});

/// schedule(epoch, learning rate) -> learning rate. Adds `learning_rate` to the logs.
CallbackPtr LearningRateScheduler(std::function<double(int64_t, double)> schedule);

/// Stops when a batch's loss is no finite number.
CallbackPtr TerminateOnNaN();

struct CSVLoggerConfig {
  std::string filename;
  std::string separator = ",";
  bool append = false;
};
/// One row an epoch: epoch, then the logs by name in alphabetical order, as Keras writes them. The
/// columns are those of the first row; what is missing later is NA. A training that is resumed
/// first cuts the file to what it was at the checkpoint: no row twice, none missing.
CallbackPtr CSVLogger(CSVLoggerConfig config);

struct ModelCheckpointConfig {
  /// {epoch}, {epoch:02d}, {batch}, {loss:.4f}, {val_accuracy:.2f}, ... are filled in; epochs and
  /// batches count from 1 there. Ends in .keras, or .weights.h5 with save_weights_only.
  std::string filepath;
  std::string monitor = "val_loss";
  bool save_best_only = false;
  bool save_weights_only = false;
  std::string mode = "auto";
  /// 0: at the end of each epoch; else whenever this many batches were done since the last save.
  int64_t save_freq = 0;
  std::optional<double> initial_value_threshold = std::nullopt;
};
/// Saves the plain model, whatever it is trained on. The best value survives a resume.
CallbackPtr ModelCheckpoint(ModelCheckpointConfig config);

struct TensorBoardConfig {
  std::string log_dir = "logs";
  /// 0: once an epoch; else also every so many steps.
  int64_t update_freq = 0;
};
/// Scalars for TensorBoard in `log_dir`/train and `log_dir`/validation: epoch_<name> by epoch, and
/// batch_<name> by step. A training that is resumed drops what came after its checkpoint, so that
/// steps stay in order.
CallbackPtr TensorBoard(TensorBoardConfig config = {});

struct LambdaCallbackConfig {
  std::function<void(TrainingControl&)> on_train_begin = nullptr, on_train_end = nullptr;
  std::function<void(TrainingControl&, int64_t epoch)> on_epoch_begin = nullptr;
  std::function<void(TrainingControl&, int64_t epoch, Logs& logs)> on_epoch_end = nullptr;
  std::function<void(TrainingControl&, int64_t batch, const Logs& logs)> on_train_batch_end =
      nullptr;
};
CallbackPtr LambdaCallback(LambdaCallbackConfig config);

}  // namespace lockstep
