// Losses: a value for each sample, and how the values make one number.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <utility>

#include "lockstep/ir/builder.h"
#include "lockstep/nn/config.h"

namespace lockstep {

/// How loss values make one number. "mean" of Keras is kSumOverBatchSize under another name.
enum class Reduction { kSumOverBatchSize, kSum, kMeanWithSampleWeight };

class Loss {
 public:
  virtual ~Loss() = default;
  virtual std::string_view class_name() const = 0;  // "CategoricalCrossentropy"
  virtual std::string default_name() const = 0;     // "categorical_crossentropy"
  /// Complete, in Keras's order: name, reduction, then the class's own fields.
  virtual Json config() const = 0;

  /// dtype in which targets are to be delivered: kF32, or kS32 for class indices.
  virtual DType target_dtype() const { return DType::kF32; }

  /// Loss values [rows] or [rows, ...] (the last axis of y_pred is reduced away).
  /// Ranks that differ by a last axis of 1 are made equal, as in Keras.
  /// y_pred's producer may be looked at: after a softmax (categorical, sparse) or logistic (binary)
  /// the loss goes back to the logits, without clipping.
  /// Throws InvalidArgument naming both shapes when they do not fit.
  virtual Value call(Builder& builder, Value y_true, Value y_pred) const = 0;

  /// f32 of call()'s shape, 1 where a value counts, or invalid when all do (ignore_class).
  /// `y_pred`: shape of the prediction that call() gets.
  virtual Value mask(Builder& builder, Value y_true, const Shape& y_pred) const {
    (void)builder, (void)y_true, (void)y_pred;
    return {};
  }
  virtual bool has_mask() const { return false; }

  Reduction reduction = Reduction::kSumOverBatchSize;
  std::string name;        // Keras's `name`; default_name() unless the configuration says otherwise
  std::string identifier;  // the string it was given by ("mse"); empty for an object
};

using LossPtr = std::shared_ptr<const Loss>;

/// From a name ("mse", "categorical_crossentropy", ...), a Keras object or a function object.
/// "crossentropy" and "ce" pick the kind from the shapes when called, as Keras does.
/// Unknown: Unsupported with the closest known name.
LossPtr loss_from_config(const Json& json);
/// As Keras writes it in compile_config: the string it was given by, or the object.
Json loss_to_config(const Loss& loss);

struct LossOptions {
  bool from_logits = false;
  double label_smoothing = 0.0;
  std::optional<int64_t> ignore_class = std::nullopt;
  Reduction reduction = Reduction::kSumOverBatchSize;
};
LossPtr CategoricalCrossentropy(LossOptions options = {});
LossPtr SparseCategoricalCrossentropy(LossOptions options = {});
LossPtr BinaryCrossentropy(LossOptions options = {});
LossPtr MeanSquaredError(Reduction reduction = Reduction::kSumOverBatchSize);
LossPtr MeanAbsoluteError(Reduction reduction = Reduction::kSumOverBatchSize);

/// One-hot rows f32[..., classes] of integer labels. A label outside [0, classes) gives a row of 0.
Value one_hot(Builder& builder, Value labels, int64_t classes);

/// The two with ranks made equal where they differ by a last axis of 1: it is dropped, or added to
/// the other when that has rank 1.
std::pair<Value, Value> squeeze_or_expand_to_same_rank(Builder& builder, Value a, Value b);

}  // namespace lockstep
