// Metrics that are a (weighted) mean of a value for each sample: all of those Lockstep has.
#pragma once

#include <functional>

#include "lockstep/nn/loss.h"
#include "lockstep/nn/metric.h"

namespace lockstep {

/// y_true, y_pred -> values [rows] or [rows, ...].
using MetricValuesFn = std::function<Value(Builder&, Value y_true, Value y_pred)>;

class MeanMetric : public Metric {
 public:
  struct Definition {
    std::string class_name;
    MetricValuesFn values;
    DType target_dtype = DType::kF32;
    Json fields = Json::object();  // of the configuration, after name and dtype
    bool is_root = false;          // the square root of the mean
  };
  MeanMetric(Definition definition, std::string name) : definition_(std::move(definition)) {
    this->name = std::move(name);
  }

  std::string_view class_name() const override { return definition_.class_name; }
  Json config() const override;
  DType target_dtype() const override { return definition_.target_dtype; }
  std::vector<Value> update(Builder& builder, Value y_true, Value y_pred,
                            Value weights) const override;
  double result(std::span<const double> sums) const override;

 private:
  Definition definition_;
};

/// 1 where the prediction's side of the threshold is the target.
Value binary_accuracy(Builder& builder, Value y_true, Value y_pred, double threshold);
/// 1 where the largest prediction is at the largest target.
Value categorical_accuracy(Builder& builder, Value y_true, Value y_pred);
/// 1 where the largest prediction is at the target's index.
Value sparse_categorical_accuracy(Builder& builder, Value y_true, Value y_pred);
/// 1 where fewer than k predictions are larger than the one of the class (f32 one-hot or s32
/// index).
Value top_k_categorical_accuracy(Builder& builder, Value y_true, Value y_pred, int64_t k);
Value sparse_top_k_categorical_accuracy(Builder& builder, Value y_true, Value y_pred, int64_t k);

}  // namespace lockstep
