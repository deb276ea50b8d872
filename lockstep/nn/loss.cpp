#include "lockstep/nn/loss.h"

#include <span>
#include <vector>

#include "lockstep/nn/loss_fields.h"

namespace lockstep {
namespace {

/// A loss class: its Keras names, how it is made, and which configuration fields it knows.
struct LossRow {
  std::string_view class_name;
  std::vector<std::string_view> names;  // of the function; the first is the class's default name
  std::shared_ptr<Loss> (*make)(const LossOptions&);
  std::vector<std::string_view> fields;  // beyond name, reduction and dtype
};

std::span<const LossRow> loss_rows() {
  static const std::vector<LossRow> rows = {
      {"CategoricalCrossentropy",
       {"categorical_crossentropy"},
       make_categorical_crossentropy,
       {"from_logits", "label_smoothing", "axis"}},
      {"SparseCategoricalCrossentropy",
       {"sparse_categorical_crossentropy"},
       make_sparse_categorical_crossentropy,
       {"from_logits", "ignore_class", "axis"}},
      {"BinaryCrossentropy",
       {"binary_crossentropy", "bce", "BCE"},
       make_binary_crossentropy,
       {"from_logits", "label_smoothing", "axis"}},
      {"Crossentropy", {"crossentropy", "ce"}, make_automatic_crossentropy, {}},
      {"MeanSquaredError", {"mean_squared_error", "mse", "MSE"}, make_mean_squared_error, {}},
      {"MeanAbsoluteError", {"mean_absolute_error", "mae", "MAE"}, make_mean_absolute_error, {}},
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

template <class T>
T field_as(const Json& value, std::string_view where, std::string_view key, std::string_view type) {
  try {
    return value.get<T>();
  } catch (const Json::exception&) {
    invalid_argument(where, "`{}` must be {}: {}", key, type, value.dump());
  }
}

void read_field(const LossRow& row, const std::string& key, const Json& value,
                LossOptions& options) {
  const std::string_view where = row.class_name;
  bool is_known = false;
  for (std::string_view field : row.fields) is_known |= field == key;
  if (!is_known) invalid_argument(where, "the configuration has an unknown field: \"{}\"", key);
  if (key == "from_logits") {
    options.from_logits = field_as<bool>(value, where, key, "true or false");
  } else if (key == "label_smoothing") {
    options.label_smoothing = field_as<double>(value, where, key, "a number");
    if (!(options.label_smoothing >= 0 && options.label_smoothing <= 1))
      invalid_argument(where, "`label_smoothing` must be in [0, 1]: {}", options.label_smoothing);
  } else if (key == "ignore_class") {
    if (!value.is_null()) options.ignore_class = field_as<int64_t>(value, where, key, "an integer");
  } else if (value != -1) {
    unsupported(where, "`axis` must be -1, the last one: {}", value.dump());
  }
}

LossPtr loss_from_object(const Json& object) {
  const std::string class_name = object.value("class_name", "");
  const Json& config = object.contains("config") ? object["config"] : Json();
  if (class_name == "function" && config.is_string()) return loss_from_config(config);
  const LossRow& row = find_row(class_name);
  LossOptions options;
  std::string name(row.names[0]);
  for (const auto& [key, value] : config.items()) {
    if (key == "name") {
      name = field_as<std::string>(value, row.class_name, key, "a string");
    } else if (key == "reduction") {
      options.reduction = reduction_from_name(value, row.class_name);
    } else if (key != "dtype") {
      read_field(row, key, value, options);
    }
  }
  std::shared_ptr<Loss> loss = row.make(options);
  loss->name = name;
  return loss;
}

}  // namespace

LossPtr loss_from_config(const Json& json) {
  if (json.is_object()) return loss_from_object(json);
  if (!json.is_string())
    invalid_argument("loss", "a loss must be a name or a Keras object: {}", json.dump());
  const std::string identifier = json.get<std::string>();
  std::shared_ptr<Loss> loss = find_row(identifier).make({});
  loss->identifier = identifier;
  return loss;
}

Json loss_to_config(const Loss& loss) {
  if (!loss.identifier.empty()) return loss.identifier;
  Json json;
  json["module"] = "keras.losses";
  json["class_name"] = loss.class_name();
  json["config"] = loss.config();
  json["registered_name"] = nullptr;
  return json;
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
