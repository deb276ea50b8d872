// What EarlyStopping, ReduceLROnPlateau and ModelCheckpoint share: a value they watch.
#pragma once

#include <optional>
#include <string>

#include "lockstep/train/callback.h"

namespace lockstep {

/// The best value of a log so far.
class Monitor {
 public:
  /// `mode`: min, max, or auto, which looks at the name: accuracies grow, losses and errors shrink.
  /// Throws InvalidArgument naming `who` for any other.
  Monitor(std::string name, const std::string& mode, double min_delta, std::string_view who);

  double value(const Logs& logs) const { return monitored(logs, name_, who_); }
  /// Better than `reference` by more than min_delta; anything is better than nothing.
  bool improves(double value, const std::optional<double>& reference) const;
  bool improves(double value) const { return improves(value, best_); }

  const std::string& name() const { return name_; }
  const std::optional<double>& best() const { return best_; }
  void set_best(std::optional<double> value) { best_ = value; }
  /// For checkpoints: null or the exact number.
  Json best_state() const { return best_ ? exact_double(*best_) : Json(nullptr); }
  void restore_best(const Json& state);

 private:
  std::string name_, who_;
  bool is_growing_;
  double min_delta_;
  std::optional<double> best_;
};

/// "Epoch 3: <text>"
std::string epoch_message(int64_t epoch, const std::string& text);

}  // namespace lockstep
