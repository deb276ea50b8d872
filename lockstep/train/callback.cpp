#include "lockstep/train/callback.h"

#include <algorithm>
#include <cmath>
#include <filesystem>

#include "lockstep/base/error.h"

namespace lockstep {
namespace {

bool has_suffix(const std::string& text, std::string_view suffix) {
  return text.size() >= suffix.size() &&
         std::string_view(text).substr(text.size() - suffix.size()) == suffix;
}

/// Is larger better? `auto` looks at the name: accuracies grow, losses and errors shrink.
bool grows(const std::string& mode, const std::string& monitor, std::string_view who) {
  if (mode == "max") return true;
  if (mode == "min") return false;
  if (mode != "auto") invalid_argument(who, "mode must be auto, min or max: \"{}\"", mode);
  return has_suffix(monitor, "acc") || has_suffix(monitor, "accuracy") ||
         has_suffix(monitor, "auc");
}

/// Keeps the best value seen.
struct Best {
  bool is_growing;
  double value;
  explicit Best(bool growing)
      : is_growing(growing),
        value(growing ? -std::numeric_limits<double>::infinity()
                      : std::numeric_limits<double>::infinity()) {}
  bool improves(double candidate, double min_delta) const {
    return is_growing ? candidate - min_delta > value : candidate + min_delta < value;
  }
};

class EarlyStoppingCallback : public Callback {
 public:
  explicit EarlyStoppingCallback(EarlyStoppingConfig config)
      : c_(std::move(config)), best_(grows(c_.mode, c_.monitor, "EarlyStopping")) {}

  void on_train_begin(TrainingControl&) override {
    wait_ = 0;
    best_ = Best(best_.is_growing);
    has_weights_ = false;
  }
  void on_epoch_end(TrainingControl& training, int64_t epoch, const Logs& logs) override {
    const double current = monitored(logs, c_.monitor, "EarlyStopping");
    if (epoch < c_.start_from_epoch) return;
    if (c_.restore_best_weights && !has_weights_) remember(training, epoch);
    ++wait_;
    if (best_.improves(current, c_.min_delta)) {
      best_.value = current;
      if (c_.restore_best_weights) remember(training, epoch);
      Best against_baseline(best_.is_growing);
      if (c_.baseline) against_baseline.value = *c_.baseline;
      if (!c_.baseline || against_baseline.improves(current, c_.min_delta)) wait_ = 0;
      return;
    }
    if (wait_ < c_.patience || epoch == 0) return;
    training.log(fmt::format("Epoch {}: early stopping", epoch + 1));
    training.stop_training();
  }
  void on_train_end(TrainingControl& training) override {
    if (!c_.restore_best_weights || !has_weights_) return;
    training.log(fmt::format("Restoring model weights from the end of the best epoch: {}.",
                             best_epoch_ + 1));
    training.restore_weights();
  }

 private:
  void remember(TrainingControl& training, int64_t epoch) {
    training.remember_weights();
    has_weights_ = true;
    best_epoch_ = epoch;
  }
  EarlyStoppingConfig c_;
  Best best_;
  int64_t wait_ = 0, best_epoch_ = 0;
  bool has_weights_ = false;
};

class PlateauCallback : public Callback {
 public:
  explicit PlateauCallback(ReduceLROnPlateauConfig config)
      : c_(std::move(config)), best_(grows(c_.mode, c_.monitor, "ReduceLROnPlateau")) {
    if (c_.factor >= 1)
      invalid_argument("ReduceLROnPlateau", "factor must be below 1: {}", c_.factor);
  }
  void on_train_begin(TrainingControl&) override {
    wait_ = cooldown_ = 0;
    best_ = Best(best_.is_growing);
  }
  void on_epoch_end(TrainingControl& training, int64_t epoch, const Logs& logs) override {
    const double current = monitored(logs, c_.monitor, "ReduceLROnPlateau");
    if (cooldown_ > 0) {
      --cooldown_;
      wait_ = 0;
    }
    if (best_.improves(current, c_.min_delta)) {
      best_.value = current;
      wait_ = 0;
    } else if (cooldown_ == 0 && ++wait_ >= c_.patience) {
      const double old = training.learning_rate();
      if (old <= static_cast<float>(c_.min_lr)) return;
      const double reduced = std::max(old * c_.factor, c_.min_lr);
      training.set_learning_rate(reduced);
      training.log(fmt::format("Epoch {}: ReduceLROnPlateau reducing learning rate to {}.",
                               epoch + 1, reduced));
      cooldown_ = c_.cooldown;
      wait_ = 0;
    }
  }

 private:
  ReduceLROnPlateauConfig c_;
  Best best_;
  int64_t wait_ = 0, cooldown_ = 0;
};

class SchedulerCallback : public Callback {
 public:
  explicit SchedulerCallback(std::function<double(int64_t, double)> schedule)
      : schedule_(std::move(schedule)) {}
  void on_epoch_begin(TrainingControl& training, int64_t epoch) override {
    training.set_learning_rate(schedule_(epoch, training.learning_rate()));
  }

 private:
  std::function<double(int64_t, double)> schedule_;
};

class TerminateCallback : public Callback {
 public:
  void on_train_batch_end(TrainingControl& training, int64_t batch, const Logs& logs) override {
    if (logs.empty() || std::isfinite(logs[0].second)) return;
    training.log(fmt::format("Batch {}: Invalid loss, terminating training", batch));
    training.stop_training();
  }
};

class CsvCallback : public Callback {
 public:
  explicit CsvCallback(CSVLoggerConfig config) : c_(std::move(config)) {}
  void on_train_begin(TrainingControl&) override {
    std::error_code ignored;
    needs_header_ = !c_.append || !std::filesystem::exists(c_.filename) ||
                    std::filesystem::file_size(c_.filename, ignored) == 0;
    file_.open(c_.filename, c_.append ? std::ios::app : std::ios::trunc);
    if (!file_) invalid_argument("CSVLogger", "cannot write {}", c_.filename);
  }
  void on_epoch_end(TrainingControl&, int64_t epoch, const Logs& logs) override {
    Logs sorted = logs;
    std::sort(sorted.begin(), sorted.end());
    if (needs_header_) {
      file_ << "epoch";
      for (const auto& [name, value] : sorted) file_ << c_.separator << name;
      file_ << '\n';
      needs_header_ = false;
    }
    file_ << epoch;
    for (const auto& [name, value] : sorted) file_ << c_.separator << fmt::format("{}", value);
    file_ << '\n' << std::flush;
  }
  void on_train_end(TrainingControl&) override { file_.close(); }

 private:
  CSVLoggerConfig c_;
  std::ofstream file_;
  bool needs_header_ = true;
};

}  // namespace

double monitored(const Logs& logs, const std::string& name, std::string_view who) {
  const auto find = [&](const std::string& wanted) {
    return std::find_if(logs.begin(), logs.end(),
                        [&](const auto& entry) { return entry.first == wanted; });
  };
  auto it = find(name);
  if (it == logs.end() && has_suffix(name, "acc")) it = find(name + "uracy");
  if (it != logs.end()) return it->second;
  std::string known;
  for (const auto& [key, value] : logs) known += (known.empty() ? "" : ", ") + key;
  invalid_argument(who, "monitor must be one of {}: \"{}\"", known, name);
}

CallbackPtr EarlyStopping(EarlyStoppingConfig config) {
  return std::make_shared<EarlyStoppingCallback>(std::move(config));
}
CallbackPtr ReduceLROnPlateau(ReduceLROnPlateauConfig config) {
  return std::make_shared<PlateauCallback>(std::move(config));
}
CallbackPtr LearningRateScheduler(std::function<double(int64_t, double)> schedule) {
  return std::make_shared<SchedulerCallback>(std::move(schedule));
}
CallbackPtr TerminateOnNaN() {
  return std::make_shared<TerminateCallback>();
}
CallbackPtr CSVLogger(CSVLoggerConfig config) {
  return std::make_shared<CsvCallback>(std::move(config));
}

}  // namespace lockstep
