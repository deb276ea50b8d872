#include "lockstep/nn/regularizer.h"

#include "lockstep/nn/object_fields.h"

namespace lockstep {
namespace {

RegularizerPtr make(std::string_view class_name, double l1, double l2) {
  return std::make_shared<const Regularizer>(std::string(class_name), l1, l2);
}

}  // namespace

Regularizer::Regularizer(std::string class_name, double l1, double l2)
    : l1(l1), l2(l2), class_name_(std::move(class_name)) {
  if (l1 < 0 || l2 < 0) invalid_argument(class_name_, "factors must be >= 0: l1 {}, l2 {}", l1, l2);
}

Json Regularizer::config() const {
  Json json = Json::object();
  if (class_name_ != "L2") json["l1"] = l1;
  if (class_name_ != "L1") json["l2"] = l2;
  return json;
}

Value Regularizer::elementwise(Builder& builder, Value x) const {
  if (l2 == 0) return builder.multiply(builder.abs(x), l1);
  const Value squares = builder.multiply(builder.square(x), l2);
  return l1 == 0 ? squares : builder.add(builder.multiply(builder.abs(x), l1), squares);
}

RegularizerPtr L1(double l1) {
  return make("L1", l1, 0.0);
}
RegularizerPtr L2(double l2) {
  return make("L2", 0.0, l2);
}
RegularizerPtr L1L2(double l1, double l2) {
  return make("L1L2", l1, l2);
}

RegularizerPtr regularizer_from_config(const Json& json) {
  if (json.is_null()) return nullptr;
  if (json.is_string()) return object_by_name<Regularizer>(json.get<std::string>());
  const KerasObject object = keras_object(json, "regularizer");
  const RegularizerPtr defaults = object_by_name<Regularizer>(object.class_name);
  double l1 = defaults->l1, l2 = defaults->l2;
  FieldReader field(object.config, object.class_name);
  if (defaults->class_name() != "L2") field("l1", l1);
  if (defaults->class_name() != "L1") field("l2", l2);
  field.finish();
  return make(defaults->class_name(), l1, l2);
}

Json regularizer_to_config(const RegularizerPtr& regularizer) {
  if (!regularizer) return nullptr;
  return keras_object_json("keras.regularizers", regularizer->class_name(), regularizer->config());
}

template <>
RegularizerPtr object_by_name<Regularizer>(std::string_view name) {
  if (name == "L1" || name == "l1") return L1();
  if (name == "L2" || name == "l2") return L2();
  if (name == "L1L2" || name == "l1_l2") return L1L2();
  unsupported("regularizer", "unsupported regularizer {}: L1, L2 and L1L2 are known", name);
}

}  // namespace lockstep
