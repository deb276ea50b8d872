// What a user may do between steps: the interface of Keras's callbacks. The callbacks themselves
// are in callbacks.h.
#pragma once

#include <filesystem>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "lockstep/formats/json.h"
#include "lockstep/tensor/host_tensor.h"

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
  /// Weights in Keras's order, as they are now, and put back.
  virtual std::vector<HostTensor> weights() = 0;
  virtual void set_weights(const std::vector<HostTensor>& weights) = 0;
  /// Writes the model as it is now: a .keras file, or a .weights.h5 file.
  virtual void save(const std::filesystem::path& path) = 0;
  virtual void save_weights(const std::filesystem::path& path) = 0;
  /// Steps done since the beginning of the run, also of those before a resume.
  virtual int64_t step() const = 0;
  /// This training goes on from a checkpoint.
  virtual bool is_resumed() const = 0;
  /// A line of progress, said unless the fit is silent.
  virtual void log(std::string_view line) = 0;
  /// A line that is said in any case.
  virtual void warn(std::string_view line) { log(line); }
};

/// Epochs and batches count from 0, as in Keras.
class Callback {
 public:
  virtual ~Callback() = default;
  /// Stands in checkpoints and messages.
  virtual std::string_view class_name() const { return "Callback"; }

  virtual void on_train_begin(TrainingControl&) {}
  virtual void on_epoch_begin(TrainingControl&, int64_t epoch) { (void)epoch; }
  /// False of those that do nothing in on_train_batch_end: accelerators may then begin a step
  /// before the one before it has ended.
  virtual bool watches_batches() const { return true; }
  virtual void on_train_batch_end(TrainingControl&, int64_t batch, const Logs& logs) {
    (void)batch, (void)logs;
  }
  /// What is added to `logs` is seen by the callbacks that follow, and in the history.
  virtual void on_epoch_end(TrainingControl&, int64_t epoch, Logs& logs) {
    (void)epoch, (void)logs;
  }
  virtual void on_train_end(TrainingControl&) {}

  /// What it must know to go on after a stop: kept in checkpoints, given back after on_train_begin
  /// of a training that is resumed. Asked for between steps. Doubles as `exact_double`.
  virtual Json state() const { return nullptr; }
  virtual std::vector<HostTensor> tensors() const { return {}; }
  virtual void restore(TrainingControl&, const Json& state, std::vector<HostTensor> tensors) {
    (void)state, (void)tensors;
  }
};
using CallbackPtr = std::shared_ptr<Callback>;

/// Value of `name` in logs; throws InvalidArgument listing what there is. `acc` also finds
/// `accuracy`.
double monitored(const Logs& logs, const std::string& name, std::string_view who);

}  // namespace lockstep
