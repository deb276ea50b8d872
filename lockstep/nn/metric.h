// Metrics: sums over towers and steps, and the number they make.
#pragma once

#include <memory>
#include <span>
#include <string>
#include <vector>

#include "lockstep/ir/builder.h"
#include "lockstep/nn/config.h"

namespace lockstep {

class Metric {
 public:
  virtual ~Metric() = default;
  virtual std::string_view class_name() const = 0;  // "CategoricalAccuracy"
  virtual Json config() const = 0;
  std::string name;  // as reported: "accuracy"

  virtual DType target_dtype() const { return DType::kF32; }
  /// Sums of one tower, f32[] each: for a mean (weighted total, total weight).
  /// `weights` f32 of the targets' leading axes, or invalid. As in Keras, what a value has beyond
  /// the weights' axes is averaged first, and each row counts as the mean of its weights.
  virtual std::vector<Value> update(Builder& builder, Value y_true, Value y_pred,
                                    Value weights) const = 0;
  /// Number from the sums added over towers and steps in f64; 0 when nothing was counted.
  virtual double result(std::span<const double> sums) const = 0;
};

using MetricPtr = std::shared_ptr<const Metric>;

/// From a name, a Keras object or a function object. "accuracy" and "acc" are resolved as Keras
/// does, from the shapes of target and prediction (rows included), and keep the name they came by.
/// Unknown: Unsupported with the closest known name.
MetricPtr metric_from_config(const Json& json, const Shape& y_true, const Shape& y_pred);

}  // namespace lockstep
