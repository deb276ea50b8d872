#include "lockstep/nn/metric.h"

#include <cctype>
#include <tuple>

#include "lockstep/nn/mean_metric.h"
#include "lockstep/nn/object_fields.h"

namespace lockstep {
namespace {

using Definition = MeanMetric::Definition;

/// A metric class: its names, and how its configuration (null: defaults) becomes a definition.
struct MetricRow {
  std::string_view class_name;
  std::vector<std::string_view> names;  // the first is the class's default name
  Definition (*define)(FieldReader& fields);
};

Definition define_binary_accuracy(FieldReader& fields) {
  double threshold = 0.5;
  fields("threshold", threshold);
  if (!(threshold > 0 && threshold < 1))
    invalid_argument("BinaryAccuracy", "`threshold` must be in (0, 1): {}", threshold);
  return {.class_name = "BinaryAccuracy",
          .values = [threshold](Builder& b, Value t,
                                Value p) { return binary_accuracy(b, t, p, threshold); },
          .fields = Json{{"threshold", threshold}}};
}

Definition define_categorical_accuracy(FieldReader&) {
  return {.class_name = "CategoricalAccuracy", .values = categorical_accuracy};
}

Definition define_sparse_categorical_accuracy(FieldReader&) {
  return {.class_name = "SparseCategoricalAccuracy",
          .values = sparse_categorical_accuracy,
          .target_dtype = DType::kS32};
}

int64_t read_k(FieldReader& fields, std::string_view class_name) {
  int64_t k = 5;
  fields("k", k);
  if (k < 1) invalid_argument(class_name, "`k` must be >= 1: {}", k);
  return k;
}

Definition define_top_k(FieldReader& fields) {
  const int64_t k = read_k(fields, "TopKCategoricalAccuracy");
  return {.class_name = "TopKCategoricalAccuracy",
          .values = [k](Builder& b, Value t,
                        Value p) { return top_k_categorical_accuracy(b, t, p, k); },
          .fields = Json{{"k", k}}};
}

Definition define_sparse_top_k(FieldReader& fields) {
  const int64_t k = read_k(fields, "SparseTopKCategoricalAccuracy");
  bool from_sorted_ids = false;
  fields("from_sorted_ids", from_sorted_ids);
  if (from_sorted_ids)
    unsupported("SparseTopKCategoricalAccuracy", "`from_sorted_ids` must be false: true");
  return {.class_name = "SparseTopKCategoricalAccuracy",
          .values = [k](Builder& b, Value t,
                        Value p) { return sparse_top_k_categorical_accuracy(b, t, p, k); },
          .target_dtype = DType::kS32,
          .fields = Json{{"k", k}}};
}

Definition define_root_mean_squared_error(FieldReader&) {
  return {.class_name = "RootMeanSquaredError",
          .values =
              [](Builder& b, Value t, Value p) {
                std::tie(t, p) = squeeze_or_expand_to_same_rank(b, t, p);
                return b.square(b.subtract(p, b.convert(t, p.dtype())));
              },
          .is_root = true};
}

/// A loss taken as a metric: the mean of its values.
Definition define_loss(std::string class_name, LossPtr loss, Json fields = Json::object()) {
  const DType target_dtype = loss->target_dtype();
  return {.class_name = std::move(class_name),
          .values = [loss](Builder& b, Value t, Value p) { return loss->call(b, t, p); },
          .target_dtype = target_dtype,
          .fields = std::move(fields)};
}

Definition define_mean_squared_error(FieldReader&) {
  return define_loss("MeanSquaredError", MeanSquaredError());
}

Definition define_mean_absolute_error(FieldReader&) {
  return define_loss("MeanAbsoluteError", MeanAbsoluteError());
}

void read_axis(FieldReader& fields, std::string_view class_name) {
  int64_t axis = -1;
  fields("axis", axis);
  if (axis != -1) unsupported(class_name, "`axis` must be -1, the last one: {}", axis);
}

LossOptions read_smoothed(FieldReader& fields, std::string_view class_name) {
  LossOptions options;
  fields("from_logits", options.from_logits);
  fields("label_smoothing", options.label_smoothing);
  if (!(options.label_smoothing >= 0 && options.label_smoothing <= 1))
    invalid_argument(class_name, "`label_smoothing` must be in [0, 1]: {}",
                     options.label_smoothing);
  return options;
}

Definition define_categorical_crossentropy(FieldReader& fields) {
  const LossOptions options = read_smoothed(fields, "CategoricalCrossentropy");
  read_axis(fields, "CategoricalCrossentropy");
  return define_loss("CategoricalCrossentropy", CategoricalCrossentropy(options),
                     {{"from_logits", options.from_logits},
                      {"label_smoothing", options.label_smoothing},
                      {"axis", -1}});
}

Definition define_binary_crossentropy(FieldReader& fields) {
  const LossOptions options = read_smoothed(fields, "BinaryCrossentropy");
  return define_loss(
      "BinaryCrossentropy", BinaryCrossentropy(options),
      {{"from_logits", options.from_logits}, {"label_smoothing", options.label_smoothing}});
}

Definition define_sparse_categorical_crossentropy(FieldReader& fields) {
  LossOptions options;
  std::optional<int64_t> ignore_class;
  fields("from_logits", options.from_logits);
  fields("ignore_class", ignore_class);
  read_axis(fields, "SparseCategoricalCrossentropy");
  // Keras counts ignored values or not depending on whether the metric is a weighted one.
  if (ignore_class)
    unsupported("SparseCategoricalCrossentropy", "`ignore_class` of the metric must be null: {}",
                *ignore_class);
  return define_loss(
      "SparseCategoricalCrossentropy", SparseCategoricalCrossentropy(options),
      {{"from_logits", options.from_logits}, {"ignore_class", nullptr}, {"axis", -1}});
}

std::span<const MetricRow> metric_rows() {
  static const std::vector<MetricRow> rows = {
      {"BinaryAccuracy", {"binary_accuracy"}, define_binary_accuracy},
      {"CategoricalAccuracy", {"categorical_accuracy"}, define_categorical_accuracy},
      {"SparseCategoricalAccuracy",
       {"sparse_categorical_accuracy"},
       define_sparse_categorical_accuracy},
      {"TopKCategoricalAccuracy", {"top_k_categorical_accuracy"}, define_top_k},
      {"SparseTopKCategoricalAccuracy", {"sparse_top_k_categorical_accuracy"}, define_sparse_top_k},
      {"MeanSquaredError", {"mean_squared_error", "mse", "MSE"}, define_mean_squared_error},
      {"MeanAbsoluteError", {"mean_absolute_error", "mae", "MAE"}, define_mean_absolute_error},
      {"RootMeanSquaredError", {"root_mean_squared_error"}, define_root_mean_squared_error},
      {"CategoricalCrossentropy", {"categorical_crossentropy"}, define_categorical_crossentropy},
      {"SparseCategoricalCrossentropy",
       {"sparse_categorical_crossentropy"},
       define_sparse_categorical_crossentropy},
      {"BinaryCrossentropy", {"binary_crossentropy", "bce", "BCE"}, define_binary_crossentropy},
  };
  return rows;
}

const MetricRow& find_row(const std::string& name) {
  std::vector<std::string_view> known = {"accuracy", "acc"};
  for (const MetricRow& row : metric_rows()) {
    if (row.class_name == name) return row;
    known.push_back(row.class_name);
    for (std::string_view alias : row.names) {
      if (alias == name) return row;
      known.push_back(alias);
    }
  }
  const std::string closest = closest_name(name, known);
  unsupported("metric", "\"{}\" is not among the metrics Lockstep has.{}", name,
              closest.empty() ? "" : fmt::format(" Did you mean \"{}\"?", closest));
}

bool is_accuracy(std::string name) {
  for (char& c : name) c = static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
  return name == "accuracy" || name == "acc";
}

/// Looks at shapes only, as Keras does: several sigmoid units count as classes.
std::string_view accuracy_kind(const Shape& y_true, const Shape& y_pred) {
  if (y_pred.back() == 1) return "BinaryAccuracy";
  if (y_true.rank() < y_pred.rank() || y_true.back() == 1) return "SparseCategoricalAccuracy";
  return "CategoricalAccuracy";
}

MetricPtr make(const MetricRow& row, const Json& config, std::string name) {
  FieldReader fields(config, row.class_name);
  fields("name", name);
  fields.find("dtype");
  Definition definition = row.define(fields);
  fields.finish();
  return std::make_shared<MeanMetric>(std::move(definition), std::move(name));
}

}  // namespace

MetricPtr metric_from_config(const Json& json, const Shape& y_true, const Shape& y_pred) {
  if (json.is_string()) {
    const std::string name = json.get<std::string>();
    const std::string kind = is_accuracy(name) ? std::string(accuracy_kind(y_true, y_pred)) : name;
    return make(find_row(kind), Json::object(), name);
  }
  const KerasObject object = keras_object(json, "metric");
  if (object.class_name == "function" && object.config.is_string())
    return metric_from_config(object.config, y_true, y_pred);
  const MetricRow& row = find_row(object.class_name);
  return make(row, object.config, std::string(row.names[0]));
}

}  // namespace lockstep
