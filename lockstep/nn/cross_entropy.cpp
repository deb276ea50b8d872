// Cross-entropies: categorical, sparse categorical, binary, and "crossentropy" that picks among
// them.

#include <tuple>

#include "lockstep/nn/loss_fields.h"

namespace lockstep {
namespace {

// keras.config.epsilon(): probabilities are kept this far from 0 and 1.
constexpr double kEpsilon = 1e-7;

/// The operand of the op that made `y_pred` when that op is `activation`, else invalid.
Value logits_behind(Builder& builder, Value y_pred, Opcode activation) {
  const Graph& graph = builder.graph();
  const Node& producer = graph.producer(y_pred.id);
  if (producer.opcode != activation) return {};
  if (activation == Opcode::kSoftmax && producer.as<AxisAttrs>().axis != y_pred.shape().rank() - 1)
    return {};
  return Value{&builder.graph(), producer.operands[0]};
}

Value clip_probability(Builder& builder, Value p) {
  return builder.minimum(builder.maximum(p, kEpsilon), 1.0 - kEpsilon);
}

/// log of class probabilities along the last axis.
Value log_probabilities(Builder& builder, Value y_pred, bool from_logits) {
  const Value logits = logits_behind(builder, y_pred, Opcode::kSoftmax);
  const int last = y_pred.shape().rank() - 1;
  if (logits.valid()) return builder.log_softmax(logits, last);
  if (from_logits) return builder.log_softmax(y_pred, last);
  Shape column = y_pred.shape();
  column[last] = 1;
  const Value total = builder.reshape(builder.reduce_sum(y_pred, {last}), column);
  return builder.log(clip_probability(builder, builder.divide(y_pred, total)));
}

class CrossentropyLoss : public Loss {
 public:
  explicit CrossentropyLoss(const LossOptions& options) : options_(options) {
    reduction = options.reduction;
  }

  Json config() const override {
    Json json = common_loss_config(*this);
    json["from_logits"] = options_.from_logits;
    json["label_smoothing"] = options_.label_smoothing;
    json["axis"] = -1;
    return json;
  }

 protected:
  LossOptions options_;
};

class CategoricalCrossentropyLoss final : public CrossentropyLoss {
 public:
  using CrossentropyLoss::CrossentropyLoss;
  std::string_view class_name() const override { return "CategoricalCrossentropy"; }
  std::string default_name() const override { return "categorical_crossentropy"; }

  Value call(Builder& builder, Value y_true, Value y_pred) const override {
    if (y_pred.shape().rank() < 2 || y_true.shape() != y_pred.shape())
      fail_target_shape(*this, y_true.shape(), y_pred.shape(),
                        "one-hot targets must have the prediction's shape");
    y_true = smoothed(builder, builder.convert(y_true, y_pred.dtype()));
    const Value log_p = log_probabilities(builder, y_pred, options_.from_logits);
    return builder.negate(builder.reduce_sum(builder.multiply(y_true, log_p), {-1}));
  }

 private:
  Value smoothed(Builder& builder, Value y_true) const {
    const double smoothing = options_.label_smoothing;
    if (smoothing == 0) return y_true;
    const double classes = static_cast<double>(y_true.shape().back());
    return builder.add(builder.multiply(y_true, 1.0 - smoothing), smoothing / classes);
  }
};

class SparseCategoricalCrossentropyLoss final : public CrossentropyLoss {
 public:
  using CrossentropyLoss::CrossentropyLoss;
  std::string_view class_name() const override { return "SparseCategoricalCrossentropy"; }
  std::string default_name() const override { return "sparse_categorical_crossentropy"; }
  DType target_dtype() const override { return DType::kS32; }
  bool has_mask() const override { return options_.ignore_class.has_value(); }

  Json config() const override {
    Json json = common_loss_config(*this);
    json["from_logits"] = options_.from_logits;
    json["ignore_class"] = options_.ignore_class ? Json(*options_.ignore_class) : Json();
    return json;
  }

  Value call(Builder& builder, Value y_true, Value y_pred) const override {
    Value labels = labels_of(builder, y_true, y_pred.shape());
    const Value valid = valid_labels(builder, labels);
    if (valid.valid()) labels = builder.select(valid, labels, builder.like(labels, 0));
    const Value log_p = log_probabilities(builder, y_pred, options_.from_logits);
    // A multiplication would turn log(0) of another class into NaN.
    const Value is_class = is_label(builder, labels, y_pred.shape().back());
    const Value picked = builder.select(is_class, log_p, builder.like(log_p, 0));
    const Value values = builder.negate(builder.reduce_sum(picked, {-1}));
    return valid.valid() ? builder.select(valid, values, builder.like(values, 0)) : values;
  }

  Value mask(Builder& builder, Value y_true, const Shape& y_pred) const override {
    const Value valid = valid_labels(builder, labels_of(builder, y_true, y_pred));
    return valid.valid() ? builder.convert(valid, DType::kF32) : Value{};
  }

  /// i1[..., classes]: where the class is the label.
  static Value is_label(Builder& builder, Value labels, int64_t classes) {
    Shape shape = labels.shape();
    shape.dims().push_back(classes);
    const Value classes_of_row = builder.iota({labels.dtype(), shape}, shape.rank() - 1);
    Dims dimensions(labels.shape().rank());
    for (size_t i = 0; i < dimensions.size(); ++i) dimensions[i] = static_cast<int64_t>(i);
    const Value spread = builder.broadcast_in_dim(labels, shape, dimensions);
    return builder.compare(spread, classes_of_row, CompareDirection::kEq);
  }

 private:
  /// y_true as s32 of y_pred's shape without its last axis.
  Value labels_of(Builder& builder, Value y_true, const Shape& y_pred) const {
    Shape want = y_pred;
    if (want.rank() < 2)
      fail_target_shape(*this, y_true.shape(), y_pred, "predictions need an axis of classes");
    want.dims().pop_back();
    Shape column = want;
    column.dims().push_back(1);
    if (y_true.shape() != want && y_true.shape() != column)
      fail_target_shape(*this, y_true.shape(), y_pred,
                        "class indices must have the prediction's shape without its last axis");
    return builder.convert(builder.reshape(y_true, want), DType::kS32);
  }

  Value valid_labels(Builder& builder, Value labels) const {
    if (!options_.ignore_class) return {};
    const double ignored = static_cast<double>(*options_.ignore_class);
    return builder.compare(labels, builder.like(labels, ignored), CompareDirection::kNe);
  }
};

class BinaryCrossentropyLoss final : public CrossentropyLoss {
 public:
  using CrossentropyLoss::CrossentropyLoss;
  std::string_view class_name() const override { return "BinaryCrossentropy"; }
  std::string default_name() const override { return "binary_crossentropy"; }

  Value call(Builder& builder, Value y_true, Value y_pred) const override {
    // The pair is looked at before reshapes could hide the activation.
    Value logits = logits_behind(builder, y_pred, Opcode::kLogistic);
    if (!logits.valid() && options_.from_logits) logits = y_pred;
    Value prediction = logits.valid() ? logits : y_pred;
    std::tie(y_true, prediction) = squeeze_or_expand_to_same_rank(builder, y_true, prediction);
    if (y_true.shape() != prediction.shape())
      fail_target_shape(*this, y_true.shape(), y_pred.shape(),
                        "targets must have the prediction's shape");
    y_true = builder.convert(y_true, prediction.dtype());
    const double smoothing = options_.label_smoothing;
    if (smoothing != 0)
      y_true = builder.add(builder.multiply(y_true, 1.0 - smoothing), 0.5 * smoothing);
    const Value values = logits.valid() ? of_logits(builder, y_true, prediction)
                                        : of_probabilities(builder, y_true, prediction);
    return values.shape().rank() > 1 ? builder.reduce_mean(values, {-1}) : values;
  }

 private:
  // max(z, 0) - z * y + log(1 + e^-|z|), by selection so that the gradient at 0 is 1/2 - y.
  static Value of_logits(Builder& builder, Value y, Value z) {
    const Value zero = builder.like(z, 0);
    const Value is_positive = builder.compare(z, zero, CompareDirection::kGe);
    const Value relu = builder.select(is_positive, z, zero);
    const Value minus_abs = builder.select(is_positive, builder.negate(z), z);
    return builder.add(builder.subtract(relu, builder.multiply(z, y)),
                       builder.log_plus_one(builder.exponential(minus_abs)));
  }

  static Value of_probabilities(Builder& builder, Value y, Value p) {
    p = clip_probability(builder, p);
    const Value hit = builder.multiply(y, builder.log(p));
    const Value miss =
        builder.multiply(builder.subtract(1.0, y), builder.log(builder.subtract(1.0, p)));
    return builder.negate(builder.add(hit, miss));
  }
};

class AutomaticCrossentropyLoss final : public CrossentropyLoss {
 public:
  using CrossentropyLoss::CrossentropyLoss;
  std::string_view class_name() const override { return "Crossentropy"; }
  std::string default_name() const override { return "crossentropy"; }

  Value call(Builder& builder, Value y_true, Value y_pred) const override {
    return kind(y_true.shape(), y_pred.shape())->call(builder, y_true, y_pred);
  }

 private:
  std::shared_ptr<Loss> kind(const Shape& y_true, const Shape& y_pred) const {
    if (y_pred.rank() == 0 || y_pred.back() == 1) return make_binary_crossentropy(options_);
    const bool is_sparse = y_true.rank() < y_pred.rank() || y_true.back() == 1;
    return is_sparse ? make_sparse_categorical_crossentropy(options_)
                     : make_categorical_crossentropy(options_);
  }
};

template <class T>
std::shared_ptr<Loss> make(const LossOptions& options) {
  auto loss = std::make_shared<T>(options);
  loss->name = loss->default_name();
  return loss;
}

}  // namespace

std::shared_ptr<Loss> make_categorical_crossentropy(const LossOptions& options) {
  return make<CategoricalCrossentropyLoss>(options);
}

std::shared_ptr<Loss> make_sparse_categorical_crossentropy(const LossOptions& options) {
  return make<SparseCategoricalCrossentropyLoss>(options);
}

std::shared_ptr<Loss> make_binary_crossentropy(const LossOptions& options) {
  return make<BinaryCrossentropyLoss>(options);
}

std::shared_ptr<Loss> make_automatic_crossentropy(const LossOptions& options) {
  return make<AutomaticCrossentropyLoss>(options);
}

LossPtr CategoricalCrossentropy(LossOptions options) {
  return make_categorical_crossentropy(options);
}

LossPtr SparseCategoricalCrossentropy(LossOptions options) {
  return make_sparse_categorical_crossentropy(options);
}

LossPtr BinaryCrossentropy(LossOptions options) {
  return make_binary_crossentropy(options);
}

Value one_hot(Builder& builder, Value labels, int64_t classes) {
  return builder.convert(SparseCategoricalCrossentropyLoss::is_label(builder, labels, classes),
                         DType::kF32);
}

}  // namespace lockstep
