// Reading and writing the fields of a Keras object's "config" in one `visit` of a class.
//
//   void visit(Fields& fields, SGDConfig& c) { fields("momentum", c.momentum); ... }
//
// FieldReader takes what is there, keeps the default of what is not, and refuses what nobody asked
// for; FieldWriter writes everything in the order of the visit.
#pragma once

#include <cmath>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "lockstep/nn/config.h"

namespace lockstep {

/// class_name and config of {"module": ..., "class_name": ..., "config": ...}.
struct KerasObject {
  std::string class_name;
  Json config;
};
/// Throws InvalidArgument when it is no object or has no class name.
KerasObject keras_object(const Json& json, std::string_view where);
Json keras_object_json(std::string_view module, std::string_view class_name, Json config);

class FieldReader {
 public:
  /// Both outlive the reader.
  FieldReader(const Json& config, std::string_view class_name);

  void operator()(std::string_view key, bool& value);
  void operator()(std::string_view key, double& value);
  void operator()(std::string_view key, int64_t& value);
  void operator()(std::string_view key, std::string& value);
  void operator()(std::string_view key, std::vector<double>& value);
  template <class T>
  void operator()(std::string_view key, std::optional<T>& value) {
    const Json* json = find(key);
    if (json == nullptr) return;
    value.reset();
    if (!json->is_null()) (*this)(key, value.emplace());
  }

  /// The field, or null when it is absent; it counts as asked for.
  const Json* find(std::string_view key);
  /// Throws InvalidArgument naming a field that was never asked for.
  void finish() const;
  /// Fields that were never asked for.
  std::vector<std::string> unasked() const;

 private:
  const Json& config_;
  std::string_view class_name_;
  std::set<std::string, std::less<>> asked_;
};

class FieldWriter {
 public:
  template <class T>
  void operator()(std::string_view key, const T& value) {
    json_[std::string(key)] = value;
  }
  template <class T>
  void operator()(std::string_view key, const std::optional<T>& value) {
    json_[std::string(key)] = value ? Json(*value) : Json();
  }
  Json json() && { return std::move(json_); }

 private:
  Json json_ = Json::object();
};

/// A count that Keras writes as it was given: 1000, not 1000.0.
Json whole_number(double value);

}  // namespace lockstep
