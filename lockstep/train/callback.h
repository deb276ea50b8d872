// What a user may do between steps: Keras's callbacks.
#pragma once

#include <fstream>
#include <functional>
#include <limits>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "lockstep/base/log.h"

namespace lockstep {

/// Names and values in the order they are reported: loss, metrics, then the same with val_.
using Logs = std::vector<std::pair<std::string, double>>;

/// The training that callbacks look at and steer.
class TrainingControl {
 public:
  virtual ~TrainingControl() = default;
  virtual double learning_rate() const = 0;
  virtual void set_learning_rate(double value) = 0;
  virtual void stop_training() = 0;
  /// Weights as they are now, and put back.
  virtual void remember_weights() = 0;
  virtual void restore_weights() = 0;
  virtual void log(std::string_view line) = 0;
};

/// Epochs and batches count from 0, as in Keras.
class Callback {
 public:
  virtual ~Callback() = default;
  virtual void on_train_begin(TrainingControl&) {}
  virtual void on_epoch_begin(TrainingControl&, int64_t epoch) { (void)epoch; }
  virtual void on_train_batch_end(TrainingControl&, int64_t batch, const Logs& logs) {
    (void)batch, (void)logs;
  }
  virtual void on_epoch_end(TrainingControl&, int64_t epoch, const Logs& logs) {
    (void)epoch, (void)logs;
  }
  virtual void on_train_end(TrainingControl&) {}
};
using CallbackPtr = std::shared_ptr<Callback>;

/// Value of `name` in logs; throws InvalidArgument listing what there is. `acc` also finds
/// `accuracy`.
double monitored(const Logs& logs, const std::string& name, std::string_view who);

struct EarlyStoppingConfig {
  std::string monitor = "val_loss";
  double min_delta = 0;
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
CallbackPtr ReduceLROnPlateau(ReduceLROnPlateauConfig config = {});

/// schedule(epoch, learning rate) -> learning rate
CallbackPtr LearningRateScheduler(std::function<double(int64_t, double)> schedule);

CallbackPtr TerminateOnNaN();

struct CSVLoggerConfig {
  std::string filename;
  std::string separator = ",";
  bool append = false;
};
/// One row an epoch: epoch, then the logs by name in alphabetical order, as Keras writes them.
CallbackPtr CSVLogger(CSVLoggerConfig config);

}  // namespace lockstep
