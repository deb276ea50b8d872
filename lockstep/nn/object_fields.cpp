#include "lockstep/nn/object_fields.h"

namespace lockstep {
namespace {

[[noreturn]] void fail_type(std::string_view class_name, std::string_view key,
                            std::string_view type, const Json& value) {
  invalid_argument(class_name, "`{}` must be {}: {}", key, type, value.dump());
}

}  // namespace

KerasObject keras_object(const Json& json, std::string_view where) {
  if (!json.is_object() || !json.contains("class_name") || !json["class_name"].is_string())
    invalid_argument(where, "a Keras object must have a \"class_name\": {}", json.dump());
  return {json["class_name"].get<std::string>(),
          json.contains("config") ? json["config"] : Json::object()};
}

Json keras_object_json(std::string_view module, std::string_view class_name, Json config) {
  Json json;
  json["module"] = module;
  json["class_name"] = class_name;
  json["config"] = std::move(config);
  json["registered_name"] = nullptr;
  return json;
}

FieldReader::FieldReader(const Json& config, std::string_view class_name)
    : config_(config), class_name_(class_name) {
  if (!config.is_object())
    invalid_argument(class_name, "the configuration must be a JSON object: {}", config.dump());
}

const Json* FieldReader::find(std::string_view key) {
  asked_.emplace(key);
  const auto it = config_.find(std::string(key));
  return it == config_.end() ? nullptr : &*it;
}

void FieldReader::operator()(std::string_view key, bool& value) {
  const Json* json = find(key);
  if (json == nullptr) return;
  if (!json->is_boolean()) fail_type(class_name_, key, "true or false", *json);
  value = json->get<bool>();
}

void FieldReader::operator()(std::string_view key, double& value) {
  const Json* json = find(key);
  if (json == nullptr) return;
  if (!json->is_number()) fail_type(class_name_, key, "a number", *json);
  value = json->get<double>();
}

void FieldReader::operator()(std::string_view key, int64_t& value) {
  const Json* json = find(key);
  if (json == nullptr) return;
  if (!json->is_number_integer()) fail_type(class_name_, key, "an integer", *json);
  value = json->get<int64_t>();
}

void FieldReader::operator()(std::string_view key, std::string& value) {
  const Json* json = find(key);
  if (json == nullptr) return;
  if (!json->is_string()) fail_type(class_name_, key, "a string", *json);
  value = json->get<std::string>();
}

void FieldReader::operator()(std::string_view key, std::vector<double>& value) {
  const Json* json = find(key);
  if (json == nullptr) return;
  if (!json->is_array()) fail_type(class_name_, key, "a list of numbers", *json);
  value.clear();
  for (const Json& element : *json) {
    if (!element.is_number()) fail_type(class_name_, key, "a list of numbers", *json);
    value.push_back(element.get<double>());
  }
}

void FieldReader::finish() const {
  for (const auto& [key, value] : config_.items()) {
    if (asked_.contains(key)) continue;
    const std::string closest = closest_name(key, asked_);
    invalid_argument(class_name_, "the configuration has an unknown field: \"{}\".{}", key,
                     closest.empty() ? "" : fmt::format(" Did you mean \"{}\"?", closest));
  }
}

std::vector<std::string> FieldReader::unasked() const {
  std::vector<std::string> keys;
  for (const auto& [key, value] : config_.items())
    if (!asked_.contains(key)) keys.push_back(key);
  return keys;
}

Json whole_number(double value) {
  if (value == std::floor(value) && std::abs(value) < 9e15) return static_cast<int64_t>(value);
  return value;
}

}  // namespace lockstep
