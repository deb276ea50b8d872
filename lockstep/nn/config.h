// What configurations of layers are made of, and how their fields are declared: once a class.
//
// A configuration is a plain struct with a `visit`:
//
//   struct DenseConfig {
//     static constexpr std::string_view kClassName = "Dense";
//     int64_t units = 0;
//     ActivationFunction activation = "linear";
//     bool use_bias = true;
//     std::string name;
//     bool trainable = true;
//     static void visit(auto& self, auto&& field) {
//       field("units", self.units);
//       field("activation", self.activation);
//       field("use_bias", self.use_bias);
//     }
//   };
//
// From it come the JSON that Keras writes (write_config), reading with defaults and errors that
// name the class, the layer, the field and what came (read_config), and docs/layers.md:
// layer_fields.h.
#pragma once

#include <array>
#include <concepts>
#include <cstdint>
#include <map>
#include <memory>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "lockstep/base/error.h"
#include "lockstep/tensor/shape.h"

namespace lockstep {

using Json = nlohmann::ordered_json;

/// Two extents of a 2-D layer; one number stands for both, as in Keras.
struct Pair {
  int64_t height = 1, width = 1;
  Pair() = default;
  Pair(int64_t both) : height(both), width(both) {}  // NOLINT: implicit as in Keras
  Pair(int64_t h, int64_t w) : height(h), width(w) {}
  bool operator==(const Pair&) const = default;
};

/// What is put around or cut off an image: one number for all sides, two for (vertical,
/// horizontal), or all four.
struct Margins {
  int64_t top = 0, bottom = 0, left = 0, right = 0;
  Margins() = default;
  Margins(int64_t all) : Margins(all, all) {}  // NOLINT: implicit as in Keras
  Margins(int64_t vertical, int64_t horizontal)
      : Margins(vertical, vertical, horizontal, horizontal) {}
  Margins(int64_t top, int64_t bottom, int64_t left, int64_t right)
      : top(top), bottom(bottom), left(left), right(right) {}
  bool operator==(const Margins&) const = default;
};

/// The object Keras knows by this name ("he_normal", "l2", "non_neg"), with its default fields.
/// Specialised for Initializer, Regularizer and Constraint. Throws Unsupported for an unknown name.
template <class T>
std::shared_ptr<const T> object_by_name(std::string_view name);

/// An initializer, regularizer or constraint as a layer takes it: an object, Keras's name of one,
/// or nullptr for none.
template <class T>
class ObjectOrName {
 public:
  ObjectOrName() = default;
  ObjectOrName(std::nullptr_t) {}                                        // NOLINT: implicit
  ObjectOrName(const char* name) : object_(object_by_name<T>(name)) {}   // NOLINT: implicit
  ObjectOrName(const std::string& name) : ObjectOrName(name.c_str()) {}  // NOLINT: implicit
  template <std::derived_from<T> U>
  ObjectOrName(std::shared_ptr<U> object) : object_(std::move(object)) {}  // NOLINT: implicit
  template <std::derived_from<T> U>
  ObjectOrName(std::shared_ptr<const U> object) : object_(std::move(object)) {}  // NOLINT: implicit

  const std::shared_ptr<const T>& get() const { return object_; }

 private:
  std::shared_ptr<const T> object_;
};

}  // namespace lockstep
