#include <cmath>

#include "lockstep/train/callbacks.h"

namespace lockstep {
namespace {

class TerminateCallback : public Callback {
 public:
  std::string_view class_name() const override { return "TerminateOnNaN"; }
  void on_train_batch_end(TrainingControl& training, int64_t batch, const Logs& logs) override {
    if (logs.empty() || std::isfinite(logs[0].second)) return;
    training.log(fmt::format("Batch {}: Invalid loss, terminating training", batch));
    training.stop_training();
  }
};

class LambdaCallbackObject : public Callback {
 public:
  explicit LambdaCallbackObject(LambdaCallbackConfig config) : c_(std::move(config)) {}
  std::string_view class_name() const override { return "LambdaCallback"; }
  bool watches_batches() const override { return c_.on_train_batch_end != nullptr; }
  void on_train_begin(TrainingControl& training) override {
    if (c_.on_train_begin) c_.on_train_begin(training);
  }
  void on_epoch_begin(TrainingControl& training, int64_t epoch) override {
    if (c_.on_epoch_begin) c_.on_epoch_begin(training, epoch);
  }
  void on_train_batch_end(TrainingControl& training, int64_t batch, const Logs& logs) override {
    if (c_.on_train_batch_end) c_.on_train_batch_end(training, batch, logs);
  }
  void on_epoch_end(TrainingControl& training, int64_t epoch, Logs& logs) override {
    if (c_.on_epoch_end) c_.on_epoch_end(training, epoch, logs);
  }
  void on_train_end(TrainingControl& training) override {
    if (c_.on_train_end) c_.on_train_end(training);
  }

 private:
  LambdaCallbackConfig c_;
};

}  // namespace

CallbackPtr TerminateOnNaN() {
  return std::make_shared<TerminateCallback>();
}
CallbackPtr LambdaCallback(LambdaCallbackConfig config) {
  return std::make_shared<LambdaCallbackObject>(std::move(config));
}

}  // namespace lockstep
