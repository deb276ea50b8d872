// Reading and writing the fields of a layer's configuration by its `visit` (see config.h).
#pragma once

#include <string>
#include <string_view>

#include "lockstep/nn/activation.h"
#include "lockstep/nn/constraint.h"
#include "lockstep/nn/initializer.h"
#include "lockstep/nn/object_fields.h"
#include "lockstep/nn/regularizer.h"

namespace lockstep {

class LayerFieldReader : public FieldReader {
 public:
  /// `where` is the class and the layer's name, for messages. Both outlive the reader.
  LayerFieldReader(const Json& config, std::string_view where)
      : FieldReader(config, where), config_(config), where_(where) {}

  using FieldReader::operator();
  void operator()(std::string_view key, int64_t& value);  // Keras 2 writes an axis as [3]
  void operator()(std::string_view key, Pair& value);
  void operator()(std::string_view key, Margins& value);
  void operator()(std::string_view key, Dims& value);
  void operator()(std::string_view key, ActivationFunction& value);
  void operator()(std::string_view key, ObjectOrName<Initializer>& value);
  void operator()(std::string_view key, ObjectOrName<Regularizer>& value);
  void operator()(std::string_view key, ObjectOrName<Constraint>& value);
  template <class T>
  void operator()(std::string_view key, std::optional<T>& value) {
    const Json* json = find(key);
    if (json == nullptr) return;
    value.reset();
    if (!json->is_null()) (*this)(key, value.emplace());
  }

  /// A field of which Lockstep knows one value only. Throws Unsupported naming field and value.
  void fixed(std::string_view key, const Json& value);
  /// A field that means nothing where the fixed ones have their values.
  void unread(std::string_view key, const Json&) { find(key); }
  /// A former name of a field: read where it stands.
  template <class T>
  void formerly(std::string_view old_key, T& value) {
    (*this)(old_key, value);
  }
  /// Throws Unsupported naming a field that has a value and was never asked for.
  void finish() const;

 private:
  const Json& config_;
  std::string_view where_;
};

class LayerFieldWriter : public FieldWriter {
 public:
  void fixed(std::string_view key, const Json& value) { (*this)(key, value); }
  void unread(std::string_view key, const Json& value) { (*this)(key, value); }
  template <class T>
  void formerly(std::string_view, const T&) {}
};

inline void to_json(Json& json, const Pair& pair) {
  json = {pair.height, pair.width};
}
void to_json(Json& json, const Margins& margins);
void to_json(Json& json, const ObjectOrName<Initializer>& initializer);
void to_json(Json& json, const ObjectOrName<Regularizer>& regularizer);
void to_json(Json& json, const ObjectOrName<Constraint>& constraint);

/// `Dense "dense_1"`: how messages call a layer; the class alone where it has no name yet.
std::string layer_label(std::string_view class_name, std::string_view name);

/// Throws Unsupported unless the policy is float32 in any of Keras's spellings; null is float32.
void check_dtype_policy(const Json& policy, std::string_view where);
/// The float32 policy as Keras 3 writes it.
Json float32_policy();

/// Configuration of a layer from the "config" of its JSON: fields that are absent keep their
/// defaults. Throws InvalidArgument (class, layer, field, what came) for a value of a wrong type,
/// Unsupported for a field or dtype policy Lockstep lacks.
template <class Config>
Config read_config(const Json& json) {
  Config config;
  if (json.is_object() && json.contains("name") && json["name"].is_string())
    config.name = json["name"].get<std::string>();
  const std::string where = layer_label(Config::kClassName, config.name);
  LayerFieldReader field(json, where);
  field("name", config.name);
  field("trainable", config.trainable);
  if (const Json* policy = field.find("dtype")) check_dtype_policy(*policy, where);
  if constexpr (requires { config.activity_regularizer; })
    field("activity_regularizer", config.activity_regularizer);
  Config::visit(config, field);
  field.finish();
  return config;
}

/// The class's own fields, in Keras's order.
template <class Config>
Json write_config(const Config& config) {
  LayerFieldWriter field;
  Config::visit(config, field);
  return std::move(field).json();
}

}  // namespace lockstep
