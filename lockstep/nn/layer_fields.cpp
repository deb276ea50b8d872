#include "lockstep/nn/layer_fields.h"

#include <algorithm>

namespace lockstep {
namespace {

[[noreturn]] void fail_type(std::string_view where, std::string_view key, std::string_view type,
                            const Json& value) {
  invalid_argument(where, "`{}` must be {}: {}", key, type, value.dump());
}

bool is_integer_pair(const Json& json) {
  return json.is_array() && json.size() == 2 && json[0].is_number_integer() &&
         json[1].is_number_integer();
}

/// Fields of Keras 2 that the reader of networks looks at, and flags of features not in use.
bool may_be_ignored(const std::string& key, const Json& value) {
  return key == "batch_input_shape" || value.is_null() || value == Json(false);
}

}  // namespace

void LayerFieldReader::operator()(std::string_view key, int64_t& value) {
  const Json* json = find(key);
  if (json == nullptr) return;
  if (!json->is_array()) return FieldReader::operator()(key, value);
  if (json->size() != 1 || !(*json)[0].is_number_integer())
    unsupported(where_, "unsupported `{}`: one integer is known, {} came", key, json->dump());
  value = (*json)[0].get<int64_t>();
}

void LayerFieldReader::operator()(std::string_view key, Pair& value) {
  const Json* json = find(key);
  if (json == nullptr) return;
  if (json->is_number_integer()) {
    value = Pair(json->get<int64_t>());
  } else if (is_integer_pair(*json)) {
    value = Pair((*json)[0].get<int64_t>(), (*json)[1].get<int64_t>());
  } else {
    fail_type(where_, key, "an integer or two", *json);
  }
}

void LayerFieldReader::operator()(std::string_view key, Margins& value) {
  const Json* json = find(key);
  if (json == nullptr) return;
  if (json->is_number_integer()) {
    value = Margins(json->get<int64_t>());
  } else if (is_integer_pair(*json)) {
    value = Margins((*json)[0].get<int64_t>(), (*json)[1].get<int64_t>());
  } else if (json->is_array() && json->size() == 2 && is_integer_pair((*json)[0]) &&
             is_integer_pair((*json)[1])) {
    const auto at = [&](int i, int j) { return (*json)[i][j].get<int64_t>(); };
    value = Margins(at(0, 0), at(0, 1), at(1, 0), at(1, 1));
  } else {
    fail_type(where_, key, "an integer, two, or [[top, bottom], [left, right]]", *json);
  }
}

void LayerFieldReader::operator()(std::string_view key, Dims& value) {
  const Json* json = find(key);
  if (json == nullptr) return;
  const auto is_integer = [](const Json& element) { return element.is_number_integer(); };
  if (!json->is_array() || !std::all_of(json->begin(), json->end(), is_integer))
    fail_type(where_, key, "a list of integers", *json);
  value = json->get<Dims>();
}

void LayerFieldReader::operator()(std::string_view key, ActivationFunction& value) {
  if (const Json* json = find(key))
    value = with_context(where_, [&] { return ActivationFunction::from_json(*json); });
}

void LayerFieldReader::operator()(std::string_view key, ObjectOrName<Initializer>& value) {
  if (const Json* json = find(key))
    value = with_context(where_, [&] { return initializer_from_config(*json); });
}

void LayerFieldReader::operator()(std::string_view key, ObjectOrName<Regularizer>& value) {
  if (const Json* json = find(key))
    value = with_context(where_, [&] { return regularizer_from_config(*json); });
}

void LayerFieldReader::operator()(std::string_view key, ObjectOrName<Constraint>& value) {
  if (const Json* json = find(key))
    value = with_context(where_, [&] { return constraint_from_config(*json); });
}

void LayerFieldReader::fixed(std::string_view key, const Json& value) {
  const Json* json = find(key);
  if (json == nullptr || *json == value || json->is_null()) return;
  unsupported(where_, "unsupported `{}` {}: only {} is known", key, json->dump(), value.dump());
}

void LayerFieldReader::finish() const {
  for (const std::string& key : unasked())
    if (const Json& value = config_.at(key); !may_be_ignored(key, value))
      unsupported(where_, "unsupported field `{}`: {}", key, value.dump());
}

void to_json(Json& json, const Margins& m) {
  json = Json::array({Json::array({m.top, m.bottom}), Json::array({m.left, m.right})});
}

void to_json(Json& json, const ObjectOrName<Initializer>& initializer) {
  json = initializer.get() ? initializer_to_config(*initializer.get()) : Json();
}

void to_json(Json& json, const ObjectOrName<Regularizer>& regularizer) {
  json = regularizer_to_config(regularizer.get());
}

void to_json(Json& json, const ObjectOrName<Constraint>& constraint) {
  json = constraint_to_config(constraint.get());
}

std::string layer_label(std::string_view class_name, std::string_view name) {
  return name.empty() ? std::string(class_name) : fmt::format("{} \"{}\"", class_name, name);
}

void check_dtype_policy(const Json& policy, std::string_view where) {
  const Json* name = &policy;
  if (policy.is_object() && policy.contains("config") && policy["config"].is_object() &&
      policy["config"].contains("name"))
    name = &policy["config"]["name"];
  if (policy.is_null() || *name == Json("float32")) return;
  unsupported(where, "unsupported dtype policy {}: float32 is known", name->dump());
}

Json float32_policy() {
  return keras_object_json("keras", "DTypePolicy", {{"name", "float32"}});
}

}  // namespace lockstep
