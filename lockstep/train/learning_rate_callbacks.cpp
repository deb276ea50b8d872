#include <algorithm>

#include "lockstep/train/callbacks.h"
#include "lockstep/train/monitor.h"

namespace lockstep {
namespace {

void log_learning_rate(const TrainingControl& training, Logs& logs) {
  const auto it = std::find_if(logs.begin(), logs.end(),
                               [](const auto& entry) { return entry.first == "learning_rate"; });
  if (it == logs.end())
    logs.emplace_back("learning_rate", training.learning_rate());
  else
    it->second = training.learning_rate();
}

class PlateauCallback : public Callback {
 public:
  explicit PlateauCallback(ReduceLROnPlateauConfig config)
      : c_(std::move(config)), monitor_(c_.monitor, c_.mode, c_.min_delta, class_name()) {
    if (c_.factor >= 1) invalid_argument(class_name(), "factor must be below 1: {}", c_.factor);
  }
  std::string_view class_name() const override { return "ReduceLROnPlateau"; }
  bool watches_batches() const override { return false; }

  void on_train_begin(TrainingControl&) override {
    wait_ = cooldown_ = 0;
    monitor_.set_best(std::nullopt);
  }
  void on_epoch_end(TrainingControl& training, int64_t epoch, Logs& logs) override {
    log_learning_rate(training, logs);
    const double current = monitor_.value(logs);
    if (cooldown_ > 0) {
      --cooldown_;
      wait_ = 0;
    }
    if (monitor_.improves(current)) {
      monitor_.set_best(current);
      wait_ = 0;
    } else if (cooldown_ == 0 && ++wait_ >= c_.patience) {
      const double old = training.learning_rate();
      if (old <= static_cast<float>(c_.min_lr)) return;
      const double reduced = std::max(old * c_.factor, c_.min_lr);
      training.set_learning_rate(reduced);
      training.log(epoch_message(
          epoch, fmt::format("ReduceLROnPlateau reducing learning rate to {}.", reduced)));
      cooldown_ = c_.cooldown;
      wait_ = 0;
    }
  }

  Json state() const override {
    return {{"wait", wait_}, {"cooldown", cooldown_}, {"best", monitor_.best_state()}};
  }
  void restore(TrainingControl&, const Json& state, std::vector<HostTensor>) override {
    wait_ = state.at("wait").get<int64_t>();
    cooldown_ = state.at("cooldown").get<int64_t>();
    monitor_.restore_best(state.at("best"));
  }

 private:
  ReduceLROnPlateauConfig c_;
  Monitor monitor_;
  int64_t wait_ = 0, cooldown_ = 0;
};

/// Keeps nothing: the learning rate itself is in the optimizer's state.
class SchedulerCallback : public Callback {
 public:
  explicit SchedulerCallback(std::function<double(int64_t, double)> schedule)
      : schedule_(std::move(schedule)) {}
  std::string_view class_name() const override { return "LearningRateScheduler"; }
  bool watches_batches() const override { return false; }

  void on_epoch_begin(TrainingControl& training, int64_t epoch) override {
    training.set_learning_rate(schedule_(epoch, training.learning_rate()));
  }
  void on_epoch_end(TrainingControl& training, int64_t, Logs& logs) override {
    log_learning_rate(training, logs);
  }

 private:
  std::function<double(int64_t, double)> schedule_;
};

}  // namespace

CallbackPtr ReduceLROnPlateau(ReduceLROnPlateauConfig config) {
  return std::make_shared<PlateauCallback>(std::move(config));
}
CallbackPtr LearningRateScheduler(std::function<double(int64_t, double)> schedule) {
  return std::make_shared<SchedulerCallback>(std::move(schedule));
}

}  // namespace lockstep
