// Losses: a value for each sample, and how the values make one number.
#pragma once

#include <memory>
#include <optional>

#include "lockstep/ir/builder.h"
#include "lockstep/nn/config.h"

namespace lockstep {

enum class Reduction { kSumOverBatchSize, kSum, kMeanWithSampleWeight };

class Loss {
 public:
  virtual ~Loss() = default;
  virtual std::string_view class_name() const = 0;  // "CategoricalCrossentropy"
  virtual std::string default_name() const = 0;     // "categorical_crossentropy"
  virtual Json config() const = 0;

  /// dtype in which targets are to be delivered: kF32, or kS32 for class indices.
  virtual DType target_dtype() const { return DType::kF32; }

  /// Loss values [rows] or [rows, ...] (the last axis of y_pred is reduced away).
  /// y_pred's producer may be looked at: after a softmax or logistic the loss goes back to the logits.
  /// Throws InvalidArgument naming both shapes when they do not fit.
  virtual Value call(Builder& builder, Value y_true, Value y_pred) const = 0;

  /// f32 of call()'s shape, 1 where a value counts, or invalid when all do (ignore_class).
  virtual Value mask(Builder& builder, Value y_true) const {
    (void)builder, (void)y_true;
    return {};
  }

  Reduction reduction = Reduction::kSumOverBatchSize;
};

using LossPtr = std::shared_ptr<const Loss>;

/// From a name ("mse", "categorical_crossentropy", ...), a Keras object or a function object.
/// Unknown: Unsupported with the closest known name.
LossPtr loss_from_config(const Json& json);
/// As Keras writes it in compile_config: the string it was given by, or the object.
Json loss_to_config(const Loss& loss);

struct LossOptions {
  bool from_logits = false;
  double label_smoothing = 0.0;
  std::optional<int64_t> ignore_class;
  Reduction reduction = Reduction::kSumOverBatchSize;
};
LossPtr CategoricalCrossentropy(LossOptions options = {});
LossPtr SparseCategoricalCrossentropy(LossOptions options = {});
LossPtr BinaryCrossentropy(LossOptions options = {});
LossPtr MeanSquaredError(Reduction reduction = Reduction::kSumOverBatchSize);
LossPtr MeanAbsoluteError(Reduction reduction = Reduction::kSumOverBatchSize);

/// One-hot rows f32[..., classes] of integer labels, with or without a trailing axis of 1.
Value one_hot(Builder& builder, Value labels, int64_t classes);

}  // namespace lockstep
