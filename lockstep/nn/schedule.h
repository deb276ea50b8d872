// Learning rates that depend on the step.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "lockstep/nn/config.h"

namespace lockstep {

/// A learning rate that depends on the step (counted from 0). Evaluated in float32, as Keras does:
/// the step too is rounded to float32.
class LearningRateSchedule {
 public:
  virtual ~LearningRateSchedule() = default;
  virtual std::string_view class_name() const = 0;  // "ExponentialDecay"
  virtual Json config() const = 0;                  // complete, Keras's order
  virtual double at(int64_t step) const = 0;
};
using SchedulePtr = std::shared_ptr<const LearningRateSchedule>;

/// From a Keras object; unknown: Unsupported with the closest known name.
SchedulePtr schedule_from_config(const Json& json);
/// {"module": "keras.optimizers.schedules", "class_name": ..., "config": ..., "registered_name":
/// null}
Json schedule_to_config(const LearningRateSchedule& schedule);

/// A number or a schedule.
struct LearningRate {
  double value = 0.001;
  SchedulePtr schedule;
  LearningRate() = default;
  LearningRate(double v) : value(v) {}                     // NOLINT: implicit as in Keras
  LearningRate(SchedulePtr s) : schedule(std::move(s)) {}  // NOLINT
  double at(int64_t step) const { return schedule ? schedule->at(step) : value; }
};

/// initial * rate ^ (step / decay_steps)
struct ExponentialDecayConfig {
  double initial_learning_rate = 0.0;
  double decay_steps = 0.0;
  double decay_rate = 0.0;
  bool staircase = false;
  std::string name = "ExponentialDecay";
};
SchedulePtr ExponentialDecay(ExponentialDecayConfig config);

/// initial / (1 + rate * step / decay_steps)
struct InverseTimeDecayConfig {
  double initial_learning_rate = 0.0;
  double decay_steps = 0.0;
  double decay_rate = 0.0;
  bool staircase = false;
  std::string name = "InverseTimeDecay";
};
SchedulePtr InverseTimeDecay(InverseTimeDecayConfig config);

/// values[i] up to and including step boundaries[i], the last value after them.
struct PiecewiseConstantDecayConfig {
  std::vector<double> boundaries = {};
  std::vector<double> values = {};
  std::string name = "PiecewiseConstant";
};
SchedulePtr PiecewiseConstantDecay(PiecewiseConstantDecayConfig config);

/// (initial - end) * (1 - step / decay_steps) ^ power + end; with `cycle`, decay_steps grows to its
/// next multiple whenever it is passed.
struct PolynomialDecayConfig {
  double initial_learning_rate = 0.0;
  double decay_steps = 0.0;
  double end_learning_rate = 0.0001;
  double power = 1.0;
  bool cycle = false;
  std::string name = "PolynomialDecay";
};
SchedulePtr PolynomialDecay(PolynomialDecayConfig config);

/// Half a cosine from `initial` (or `warmup_target`, after a linear rise) to alpha times that.
struct CosineDecayConfig {
  double initial_learning_rate = 0.0;
  double decay_steps = 0.0;
  double alpha = 0.0;
  std::string name = "CosineDecay";
  std::optional<double> warmup_target = std::nullopt;
  double warmup_steps = 0.0;
};
SchedulePtr CosineDecay(CosineDecayConfig config);

/// Half cosines one after another, each t_mul times as long and m_mul times as high as the one
/// before.
struct CosineDecayRestartsConfig {
  double initial_learning_rate = 0.0;
  double first_decay_steps = 0.0;
  double t_mul = 2.0;
  double m_mul = 1.0;
  double alpha = 0.0;
  std::string name = "SGDRDecay";
};
SchedulePtr CosineDecayRestarts(CosineDecayRestartsConfig config);

}  // namespace lockstep
