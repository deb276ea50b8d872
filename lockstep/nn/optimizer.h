// Optimizers: slots, and the update of one variable as graph nodes, element by element.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "lockstep/ir/builder.h"
#include "lockstep/nn/config.h"
#include "lockstep/nn/schedule.h"

namespace lockstep {

// The fields all optimizers take besides the learning rate, spelled out in each class's
// configuration so that `Adam({.learning_rate = 1e-3, .clipnorm = 1})` reads like Keras.
#define LOCKSTEP_OPTIMIZER_FIELDS(default_weight_decay)                              \
  std::optional<double> weight_decay = default_weight_decay;                         \
  /* at most one of the three */                                                     \
  std::optional<double> clipnorm = std::nullopt;                                     \
  std::optional<double> clipvalue = std::nullopt;                                    \
  std::optional<double> global_clipnorm = std::nullopt;                              \
  bool use_ema = false;                                                              \
  double ema_momentum = 0.99;                                                        \
  std::optional<int64_t> ema_overwrite_frequency = std::nullopt;                     \
  std::optional<int64_t> gradient_accumulation_steps = std::nullopt; /* 2 or more */ \
  std::string name = "" /* stands for Keras's: the class name in snake case */

/// What all Keras optimizers take. Names and meaning are Keras 3's.
struct OptimizerConfig {
  LearningRate learning_rate = 0.001;
  LOCKSTEP_OPTIMIZER_FIELDS(std::nullopt);
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
    Value weight, gradient;    // f32[n]: clipped, weight decay of the weight already done
    std::vector<Value> slots;  // f32[n] each
    Value learning_rate;       // f32[]
    Value updates;             // f32[]: number of this update, counted from 1
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

/// From a name ("adam", "Adam") or a Keras object; unknown: Unsupported with the closest known
/// name.
OptimizerPtr optimizer_from_config(const Json& json);
/// {"module": "keras.optimizers", "class_name": ..., "config": ..., "registered_name": null}
Json optimizer_to_config(const Optimizer& optimizer);

struct SGDConfig {
  LearningRate learning_rate = 0.01;
  double momentum = 0.0;
  bool nesterov = false;
  LOCKSTEP_OPTIMIZER_FIELDS(std::nullopt);
};
OptimizerPtr SGD(SGDConfig config = {});

struct RMSpropConfig {
  LearningRate learning_rate = 0.001;
  double rho = 0.9;
  double momentum = 0.0;
  double epsilon = 1e-7;
  bool centered = false;
  LOCKSTEP_OPTIMIZER_FIELDS(std::nullopt);
};
OptimizerPtr RMSprop(RMSpropConfig config = {});

struct AdamConfig {
  LearningRate learning_rate = 0.001;
  double beta_1 = 0.9;
  double beta_2 = 0.999;
  double epsilon = 1e-7;
  bool amsgrad = false;
  LOCKSTEP_OPTIMIZER_FIELDS(std::nullopt);
};
OptimizerPtr Adam(AdamConfig config = {});

/// Adam with weight decay unless told otherwise; the arithmetic is the same.
struct AdamWConfig {
  LearningRate learning_rate = 0.001;
  double beta_1 = 0.9;
  double beta_2 = 0.999;
  double epsilon = 1e-7;
  bool amsgrad = false;
  LOCKSTEP_OPTIMIZER_FIELDS(0.004);
};
OptimizerPtr AdamW(AdamWConfig config = {});

struct AdamaxConfig {
  LearningRate learning_rate = 0.001;
  double beta_1 = 0.9;
  double beta_2 = 0.999;
  double epsilon = 1e-7;
  LOCKSTEP_OPTIMIZER_FIELDS(std::nullopt);
};
OptimizerPtr Adamax(AdamaxConfig config = {});

struct AdagradConfig {
  LearningRate learning_rate = 0.001;
  double initial_accumulator_value = 0.1;
  double epsilon = 1e-7;
  LOCKSTEP_OPTIMIZER_FIELDS(std::nullopt);
};
OptimizerPtr Adagrad(AdagradConfig config = {});

struct AdadeltaConfig {
  LearningRate learning_rate = 0.001;
  double rho = 0.95;
  double epsilon = 1e-7;
  LOCKSTEP_OPTIMIZER_FIELDS(std::nullopt);
};
OptimizerPtr Adadelta(AdadeltaConfig config = {});

struct LionConfig {
  LearningRate learning_rate = 0.001;
  double beta_1 = 0.9;
  double beta_2 = 0.99;
  LOCKSTEP_OPTIMIZER_FIELDS(std::nullopt);
};
OptimizerPtr Lion(LionConfig config = {});

#undef LOCKSTEP_OPTIMIZER_FIELDS

}  // namespace lockstep
