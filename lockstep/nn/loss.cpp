#include "lockstep/nn/loss.h"

#include <span>
#include <vector>

#include "lockstep/nn/loss_fields.h"
#include "lockstep/nn/object_fields.h"

namespace lockstep {
namespace {

/// Fields of a loss's configuration beyond name, reduction and dtype.
enum LossFields { kLogits = 1, kSmoothing = 2, kIgnoreClass = 4, kAxis = 8 };

/// A loss class: its Keras names, how it is made, and its fields.
struct LossRow {
  std::string_view class_name;
  std::vector<std::string_view> names;  // of the function; the first is the class's default name
  std::shared_ptr<Loss> (*make)(const LossOptions&);
  int fields;
};

std::span<const LossRow> loss_rows() {
  static const std::vector<LossRow> rows = {
      {"CategoricalCrossentropy",
       {"categorical_crossentropy"},
       make_categorical_crossentropy,
       kLogits | kSmoothing | kAxis},
      {"SparseCategoricalCrossentropy",
       {"sparse_categorical_crossentropy"},
       make_sparse_categorical_crossentropy,
       kLogits | kIgnoreClass | kAxis},
      {"BinaryCrossentropy",
       {"binary_crossentropy", "bce", "BCE"},
       make_binary_crossentropy,
       kLogits | kSmoothing | kAxis},
      {"Crossentropy", {"crossentropy", "ce"}, make_automatic_crossentropy, 0},
      {"MeanSquaredError", {"mean_squared_error", "mse", "MSE"}, make_mean_squared_error, 0},
      {"MeanAbsoluteError", {"mean_absolute_error", "mae", "MAE"}, make_mean_absolute_error, 0},
  };
  return rows;
}

const LossRow& find_row(const std::string& name) {
  std::vector<std::string_view> known;
  for (const LossRow& row : loss_rows()) {
    if (row.class_name == name) return row;
    known.push_back(row.class_name);
    for (std::string_view alias : row.names) {
      if (alias == name) return row;
      known.push_back(alias);
    }
  }
  const std::string closest = closest_name(name, known);
  unsupported("loss", "\"{}\" is not among the losses Lockstep has.{}", name,
              closest.empty() ? "" : fmt::format(" Did you mean \"{}\"?", closest));
}

void read_label_smoothing(FieldReader& fields, std::string_view class_name, LossOptions& options) {
  fields("label_smoothing", options.label_smoothing);
  if (!(options.label_smoothing >= 0 && options.label_smoothing <= 1))
    invalid_argument(class_name, "`label_smoothing` must be in [0, 1]: {}",
                     options.label_smoothing);
}

void read_axis(FieldReader& fields, std::string_view class_name) {
  int64_t axis = -1;
  fields("axis", axis);
  if (axis != -1) unsupported(class_name, "`axis` must be -1, the last one: {}", axis);
}

LossPtr loss_from_object(const KerasObject& object) {
  const LossRow& row = find_row(object.class_name);
  FieldReader fields(object.config, row.class_name);
  LossOptions options;
  std::string name(row.names[0]);
  fields("name", name);
  fields.find("dtype");
  if (const Json* reduction = fields.find("reduction"))
    options.reduction = reduction_from_name(*reduction, row.class_name);
  if (row.fields & kLogits) fields("from_logits", options.from_logits);
  if (row.fields & kSmoothing) read_label_smoothing(fields, row.class_name, options);
  if (row.fields & kIgnoreClass) fields("ignore_class", options.ignore_class);
  if (row.fields & kAxis) read_axis(fields, row.class_name);
  fields.finish();
  std::shared_ptr<Loss> loss = row.make(options);
  loss->name = name;
  return loss;
}

}  // namespace

LossPtr loss_from_config(const Json& json) {
  if (json.is_string()) {
    std::shared_ptr<Loss> loss = find_row(json.get<std::string>()).make({});
    loss->identifier = json.get<std::string>();
    return loss;
  }
  const KerasObject object = keras_object(json, "loss");
  if (object.class_name == "function" && object.config.is_string())
    return loss_from_config(object.config);
  return loss_from_object(object);
}

Json loss_to_config(const Loss& loss) {
  if (!loss.identifier.empty()) return loss.identifier;
  return keras_object_json("keras.losses", loss.class_name(), loss.config());
}

std::string_view reduction_name(Reduction reduction) {
  switch (reduction) {
    case Reduction::kSumOverBatchSize:
      return "sum_over_batch_size";
    case Reduction::kSum:
      return "sum";
    case Reduction::kMeanWithSampleWeight:
      return "mean_with_sample_weight";
  }
  check_failed("a known reduction", __FILE__, __LINE__);
}

Reduction reduction_from_name(const Json& json, std::string_view where) {
  if (json.is_null() || json == "none")
    unsupported(where, "`reduction` must make one number: none came. Training needs a scalar loss");
  if (json == "sum_over_batch_size" || json == "mean") return Reduction::kSumOverBatchSize;
  if (json == "sum") return Reduction::kSum;
  if (json == "mean_with_sample_weight") return Reduction::kMeanWithSampleWeight;
  invalid_argument(where,
                   "`reduction` must be \"sum_over_batch_size\", \"sum\", \"mean\" or "
                   "\"mean_with_sample_weight\": {}",
                   json.dump());
}

Json common_loss_config(const Loss& loss) {
  Json json;
  json["name"] = loss.name;
  json["reduction"] = reduction_name(loss.reduction);
  return json;
}

void fail_target_shape(const Loss& loss, const Shape& y_true, const Shape& y_pred,
                       std::string_view rule) {
  invalid_argument(loss.name, "{}: targets {}, predictions {}", rule, y_true.str(), y_pred.str());
}

std::pair<Value, Value> squeeze_or_expand_to_same_rank(Builder& builder, Value a, Value b) {
  const auto match = [&builder](Value& longer, Value& shorter) {
    if (longer.shape().rank() != shorter.shape().rank() + 1 || longer.shape().back() != 1) return;
    Value& changed = shorter.shape().rank() == 1 ? shorter : longer;
    Shape shape = changed.shape();
    if (shorter.shape().rank() == 1) {
      shape.dims().push_back(1);
    } else {
      shape.dims().pop_back();
    }
    changed = builder.reshape(changed, shape);
  };
  match(a, b);
  match(b, a);
  return {a, b};
}

}  // namespace lockstep
