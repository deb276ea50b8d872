// Optimizers: slots, and the update of one variable as graph nodes, element by element.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <variant>
#include <vector>

#include "lockstep/ir/builder.h"
#include "lockstep/nn/config.h"

namespace lockstep {

/// A learning rate that depends on the step (counted from 0).
class LearningRateSchedule {
 public:
  virtual ~LearningRateSchedule() = default;
  virtual std::string_view class_name() const = 0;  // "ExponentialDecay"
  virtual Json config() const = 0;
  virtual double at(int64_t step) const = 0;
};
using SchedulePtr = std::shared_ptr<const LearningRateSchedule>;

/// A number or a schedule.
struct LearningRate {
  double value = 0.001;
  SchedulePtr schedule;
  LearningRate() = default;
  LearningRate(double v) : value(v) {}                        // NOLINT: implicit as in Keras
  LearningRate(SchedulePtr s) : schedule(std::move(s)) {}  // NOLINT
  double at(int64_t step) const { return schedule ? schedule->at(step) : value; }
};

/// What all Keras optimizers take. Names and meaning are Keras 3's.
struct OptimizerConfig {
  LearningRate learning_rate = 0.001;
  std::optional<double> weight_decay, clipnorm, global_clipnorm, clipvalue;
  bool use_ema = false;
  double ema_momentum = 0.99;
  std::optional<int64_t> ema_overwrite_frequency;
  std::optional<int64_t> gradient_accumulation_steps;
  std::string name;
};

/// A per-variable tensor of the variable's shape. In files all slots of group 0 come first,
/// interleaved by variable (m, v, m, v, ...), then those of group 1, ...
struct SlotSpec {
  std::string name;  // "momentum"
  int group = 0;
  double initial_value = 0.0;
};

class Optimizer {
 public:
  explicit Optimizer(OptimizerConfig common) : common(std::move(common)) {}
  virtual ~Optimizer() = default;
  virtual std::string_view class_name() const = 0;  // "Adam"
  virtual Json config() const = 0;                  // complete, Keras's order
  virtual std::vector<SlotSpec> slots() const = 0;

  struct Args {
    Builder& builder;
    Value weight, gradient;     // f32[n]: clipped, weight decay of the weight already done
    std::vector<Value> slots;   // f32[n] each
    Value learning_rate;        // f32[]
    Value updates;              // f32[]: number of this update, counted from 1
  };
  struct Result {
    Value weight;
    std::vector<Value> slots;
  };
  /// Keras 3's update_step: `weight - learning_rate * ...` in the same order of operations.
  virtual Result update(const Args& args) const = 0;

  OptimizerConfig common;
};

using OptimizerPtr = std::shared_ptr<Optimizer>;

/// From a name or a Keras object; unknown: Unsupported with the closest known name.
OptimizerPtr optimizer_from_config(const Json& json);
/// {"module": "keras.optimizers", "class_name": ..., "config": ..., "registered_name": null}
Json optimizer_to_config(const Optimizer& optimizer);

}  // namespace lockstep
