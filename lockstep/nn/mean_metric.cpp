#include "lockstep/nn/mean_metric.h"

#include <cmath>
#include <tuple>

namespace lockstep {
namespace {

Value mean_over(Builder& builder, Value x, int first_axis) {
  Dims axes;
  for (int axis = first_axis; axis < x.shape().rank(); ++axis) axes.push_back(axis);
  return axes.empty() ? x : builder.reduce_mean(x, axes);
}

Value sum_all(Builder& builder, Value x) {
  Dims axes;
  for (int axis = 0; axis < x.shape().rank(); ++axis) axes.push_back(axis);
  return axes.empty() ? x : builder.reduce_sum(x, axes);
}

Value matches(Builder& builder, Value a, Value b) {
  return builder.convert(builder.compare(a, b, CompareDirection::kEq), DType::kF32);
}

[[noreturn]] void fail_shapes(std::string_view metric, Value y_true, Value y_pred) {
  invalid_argument(metric, "targets must fit the predictions: targets {}, predictions {}",
                   y_true.shape().str(), y_pred.shape().str());
}

/// Class indices as s32 of y_pred's shape without its last axis.
Value class_indices(Builder& builder, std::string_view metric, Value y_true, Value y_pred) {
  Shape want = y_pred.shape();
  if (want.rank() < 2) fail_shapes(metric, y_true, y_pred);
  want.dims().pop_back();
  Shape column = want;
  column.dims().push_back(1);
  if (y_true.shape() != want && y_true.shape() != column) fail_shapes(metric, y_true, y_pred);
  return builder.convert(builder.reshape(y_true, want), DType::kS32);
}

void check_one_hot(std::string_view metric, Value y_true, Value y_pred) {
  if (y_pred.shape().rank() < 2 || y_true.shape() != y_pred.shape())
    fail_shapes(metric, y_true, y_pred);
}

/// 1 where fewer than k predictions are larger than the one at `label`.
Value in_top_k(Builder& builder, Value labels, Value y_pred, int64_t k) {
  const Value is_class = one_hot(builder, labels, y_pred.shape().back());
  const Value picked = builder.select(builder.compare(is_class, 1.0, CompareDirection::kEq), y_pred,
                                      builder.like(y_pred, 0));
  Shape column = labels.shape();
  column.dims().push_back(1);
  const Value of_class = builder.reshape(builder.reduce_sum(picked, {-1}), column);
  const Value is_larger = builder.compare(y_pred, builder.broadcast_to(of_class, y_pred.shape()),
                                          CompareDirection::kGt);
  const Value larger = builder.reduce_sum(builder.convert(is_larger, DType::kF32), {-1});
  return builder.convert(builder.compare(larger, static_cast<double>(k), CompareDirection::kLt),
                         DType::kF32);
}

}  // namespace

Json MeanMetric::config() const {
  Json json;
  json["name"] = name;
  json["dtype"] = "float32";
  json.update(definition_.fields);
  return json;
}

std::vector<Value> MeanMetric::update(Builder& builder, Value y_true, Value y_pred,
                                      Value weights) const {
  Value values = definition_.values(builder, y_true, y_pred);
  const int64_t rows = values.shape()[0];
  if (!weights.valid())
    return {sum_all(builder, mean_over(builder, values, 1)),
            builder.constant(static_cast<double>(rows))};
  std::tie(values, weights) = squeeze_or_expand_to_same_rank(builder, values, weights);
  values = mean_over(builder, values, weights.shape().rank());
  weights = builder.broadcast_to(weights, values.shape());
  values = builder.multiply(values, weights);
  return {sum_all(builder, mean_over(builder, values, 1)),
          sum_all(builder, mean_over(builder, weights, 1))};
}

double MeanMetric::result(std::span<const double> sums) const {
  const double mean = sums[1] == 0 ? 0.0 : sums[0] / sums[1];
  return definition_.is_root ? std::sqrt(mean) : mean;
}

Value binary_accuracy(Builder& builder, Value y_true, Value y_pred, double threshold) {
  const Value given = y_true, predicted = y_pred;
  std::tie(y_true, y_pred) = squeeze_or_expand_to_same_rank(builder, y_true, y_pred);
  if (y_true.shape() != y_pred.shape()) fail_shapes("binary_accuracy", given, predicted);
  const Value is_above = builder.compare(y_pred, threshold, CompareDirection::kGt);
  return matches(builder, y_true, builder.convert(is_above, y_true.dtype()));
}

Value categorical_accuracy(Builder& builder, Value y_true, Value y_pred) {
  check_one_hot("categorical_accuracy", y_true, y_pred);
  const int last = y_pred.shape().rank() - 1;
  return matches(builder, builder.argmax(y_true, last), builder.argmax(y_pred, last));
}

Value sparse_categorical_accuracy(Builder& builder, Value y_true, Value y_pred) {
  const Value labels = class_indices(builder, "sparse_categorical_accuracy", y_true, y_pred);
  return matches(builder, labels, builder.argmax(y_pred, y_pred.shape().rank() - 1));
}

Value top_k_categorical_accuracy(Builder& builder, Value y_true, Value y_pred, int64_t k) {
  check_one_hot("top_k_categorical_accuracy", y_true, y_pred);
  return in_top_k(builder, builder.argmax(y_true, y_true.shape().rank() - 1), y_pred, k);
}

Value sparse_top_k_categorical_accuracy(Builder& builder, Value y_true, Value y_pred, int64_t k) {
  const Value labels = class_indices(builder, "sparse_top_k_categorical_accuracy", y_true, y_pred);
  return in_top_k(builder, labels, y_pred, k);
}

}  // namespace lockstep
