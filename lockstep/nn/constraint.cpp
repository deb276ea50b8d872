#include "lockstep/nn/constraint.h"

#include "lockstep/nn/object_fields.h"

namespace lockstep {
namespace {

constexpr double kEpsilon = 1e-7;  // keras.backend.epsilon()

Json axes_json(const NormAxes& axes) {
  return axes.is_list ? Json(axes.axes) : Json(axes.axes.front());
}

/// sqrt(sum of squares) over axes that stay with extent 1.
Value norms(Builder& builder, Value weight, const NormAxes& over, std::string_view where) {
  Shape kept = weight.shape();
  Dims axes;
  for (int64_t axis : over.axes) {
    if (axis < -kept.rank() || axis >= kept.rank())
      invalid_argument(where, "`axis` must be an axis of the weight: {} came for {}", axis,
                       weight.shape().str());
    axes.push_back(axis < 0 ? axis + kept.rank() : axis);
  }
  for (int64_t axis : axes) kept[static_cast<int>(axis)] = 1;
  const Value sums = builder.reduce_sum(builder.square(weight), axes);
  return builder.reshape(builder.sqrt(sums), kept);
}

Value clip(Builder& builder, Value x, double low, double high) {
  return builder.minimum(builder.maximum(x, low), high);
}

class MaxNormConstraint final : public Constraint {
 public:
  explicit MaxNormConstraint(MaxNormConfig config) : config_(std::move(config)) {}
  std::string_view class_name() const override { return "MaxNorm"; }
  Json config() const override {
    return {{"max_value", config_.max_value}, {"axis", axes_json(config_.axis)}};
  }
  Value apply(Builder& builder, Value weight) const override {
    const Value norm = norms(builder, weight, config_.axis, class_name());
    const Value desired = clip(builder, norm, 0.0, config_.max_value);
    return builder.multiply(weight, builder.divide(desired, builder.add(norm, kEpsilon)));
  }

 private:
  MaxNormConfig config_;
};

class NonNegConstraint final : public Constraint {
 public:
  std::string_view class_name() const override { return "NonNeg"; }
  Json config() const override { return Json::object(); }
  Value apply(Builder& builder, Value weight) const override {
    return builder.maximum(weight, 0.0);
  }
};

class UnitNormConstraint final : public Constraint {
 public:
  explicit UnitNormConstraint(UnitNormConfig config) : config_(std::move(config)) {}
  std::string_view class_name() const override { return "UnitNorm"; }
  Json config() const override { return {{"axis", axes_json(config_.axis)}}; }
  Value apply(Builder& builder, Value weight) const override {
    const Value norm = norms(builder, weight, config_.axis, class_name());
    return builder.divide(weight, builder.add(norm, kEpsilon));
  }

 private:
  UnitNormConfig config_;
};

class MinMaxNormConstraint final : public Constraint {
 public:
  explicit MinMaxNormConstraint(MinMaxNormConfig config) : config_(std::move(config)) {}
  std::string_view class_name() const override { return "MinMaxNorm"; }
  Json config() const override {
    return {{"min_value", config_.min_value},
            {"max_value", config_.max_value},
            {"rate", config_.rate},
            {"axis", axes_json(config_.axis)}};
  }
  Value apply(Builder& builder, Value weight) const override {
    const Value norm = norms(builder, weight, config_.axis, class_name());
    const Value clipped = clip(builder, norm, config_.min_value, config_.max_value);
    const Value desired = builder.add(builder.multiply(clipped, config_.rate),
                                      builder.multiply(norm, 1.0 - config_.rate));
    return builder.multiply(weight, builder.divide(desired, builder.add(norm, kEpsilon)));
  }

 private:
  MinMaxNormConfig config_;
};

void read_axes(FieldReader& field, std::string_view class_name, NormAxes& axes) {
  const Json* json = field.find("axis");
  if (json == nullptr) return;
  const bool is_list = json->is_array() && !json->empty();
  axes.axes.clear();
  axes.is_list = is_list;
  for (const Json& axis : is_list ? *json : Json::array({*json})) {
    if (!axis.is_number_integer())
      invalid_argument(class_name, "`axis` must be an integer or a list of them: {}", json->dump());
    axes.axes.push_back(axis.get<int64_t>());
  }
}

ConstraintPtr read_max_norm(FieldReader& field) {
  MaxNormConfig config;
  field("max_value", config.max_value);
  read_axes(field, "MaxNorm", config.axis);
  return MaxNorm(config);
}

ConstraintPtr read_unit_norm(FieldReader& field) {
  UnitNormConfig config;
  read_axes(field, "UnitNorm", config.axis);
  return UnitNorm(config);
}

ConstraintPtr read_min_max_norm(FieldReader& field) {
  MinMaxNormConfig config;
  field("min_value", config.min_value);
  field("max_value", config.max_value);
  field("rate", config.rate);
  read_axes(field, "MinMaxNorm", config.axis);
  return MinMaxNorm(config);
}

ConstraintPtr read_non_neg(FieldReader&) {
  return NonNeg();
}

struct Row {
  std::string_view class_name, name;
  ConstraintPtr (*read)(FieldReader& field);
};
constexpr Row kRows[] = {
    {"MaxNorm", "max_norm", read_max_norm},
    {"NonNeg", "non_neg", read_non_neg},
    {"UnitNorm", "unit_norm", read_unit_norm},
    {"MinMaxNorm", "min_max_norm", read_min_max_norm},
};

ConstraintPtr read(std::string_view name, const Json& config) {
  for (const Row& row : kRows) {
    if (name != row.class_name && name != row.name) continue;
    FieldReader field(config, row.class_name);
    ConstraintPtr constraint = row.read(field);
    field.finish();
    return constraint;
  }
  unsupported("constraint",
              "unsupported constraint {}: MaxNorm, NonNeg, UnitNorm and MinMaxNorm are known",
              name);
}

}  // namespace

ConstraintPtr MaxNorm(MaxNormConfig config) {
  return std::make_shared<MaxNormConstraint>(std::move(config));
}
ConstraintPtr NonNeg() {
  return std::make_shared<NonNegConstraint>();
}
ConstraintPtr UnitNorm(UnitNormConfig config) {
  return std::make_shared<UnitNormConstraint>(std::move(config));
}
ConstraintPtr MinMaxNorm(MinMaxNormConfig config) {
  return std::make_shared<MinMaxNormConstraint>(std::move(config));
}

ConstraintPtr constraint_from_config(const Json& json) {
  if (json.is_null()) return nullptr;
  if (json.is_string()) return object_by_name<Constraint>(json.get<std::string>());
  const KerasObject object = keras_object(json, "constraint");
  return read(object.class_name, object.config);
}

Json constraint_to_config(const ConstraintPtr& constraint) {
  if (!constraint) return nullptr;
  return keras_object_json("keras.constraints", constraint->class_name(), constraint->config());
}

template <>
ConstraintPtr object_by_name<Constraint>(std::string_view name) {
  return read(name, Json::object());
}

}  // namespace lockstep
