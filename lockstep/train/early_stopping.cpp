#include "lockstep/train/callbacks.h"
#include "lockstep/train/monitor.h"

namespace lockstep {
namespace {

class EarlyStoppingCallback : public Callback {
 public:
  explicit EarlyStoppingCallback(EarlyStoppingConfig config)
      : c_(std::move(config)), monitor_(c_.monitor, c_.mode, c_.min_delta, class_name()) {}
  std::string_view class_name() const override { return "EarlyStopping"; }
  bool watches_batches() const override { return false; }

  void on_train_begin(TrainingControl&) override {
    wait_ = 0;
    monitor_.set_best(std::nullopt);
    best_weights_.clear();
  }
  void on_epoch_end(TrainingControl& training, int64_t epoch, Logs& logs) override {
    const double current = monitor_.value(logs);
    if (epoch < c_.start_from_epoch) return;
    if (c_.restore_best_weights && best_weights_.empty()) remember(training, epoch);
    ++wait_;
    if (monitor_.improves(current)) {
      monitor_.set_best(current);
      if (c_.restore_best_weights) remember(training, epoch);
      if (!c_.baseline || monitor_.improves(current, c_.baseline)) wait_ = 0;
      return;
    }
    if (wait_ < c_.patience || epoch == 0) return;
    training.log(epoch_message(epoch, "early stopping"));
    training.stop_training();
  }
  void on_train_end(TrainingControl& training) override {
    if (best_weights_.empty()) return;
    training.log(fmt::format("Restoring model weights from the end of the best epoch: {}.",
                             best_epoch_ + 1));
    training.set_weights(best_weights_);
  }

  Json state() const override {
    return {{"wait", wait_}, {"best", monitor_.best_state()}, {"best_epoch", best_epoch_}};
  }
  std::vector<HostTensor> tensors() const override { return best_weights_; }
  void restore(TrainingControl&, const Json& state, std::vector<HostTensor> tensors) override {
    wait_ = state.at("wait").get<int64_t>();
    best_epoch_ = state.at("best_epoch").get<int64_t>();
    monitor_.restore_best(state.at("best"));
    best_weights_ = std::move(tensors);
  }

 private:
  void remember(TrainingControl& training, int64_t epoch) {
    best_weights_ = training.weights();
    best_epoch_ = epoch;
  }
  EarlyStoppingConfig c_;
  Monitor monitor_;
  int64_t wait_ = 0, best_epoch_ = 0;
  std::vector<HostTensor> best_weights_;
};

}  // namespace

CallbackPtr EarlyStopping(EarlyStoppingConfig config) {
  return std::make_shared<EarlyStoppingCallback>(std::move(config));
}

}  // namespace lockstep
