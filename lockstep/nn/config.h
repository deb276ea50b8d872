// Configuration fields of layers, losses, metrics, optimizers, ... declared once a class.
//
// A configuration is a plain struct with a `visit`:
//
//   struct DenseConfig {
//     int64_t units = 0;
//     Activation activation = "linear";
//     bool use_bias = true;
//     template <class Self, class Visitor> static void visit(Self& self, Visitor&& field) {
//       field("units", self.units);
//       field("activation", self.activation);
//       field("use_bias", self.use_bias);
//     }
//   };
//
// From it come the JSON that Keras writes (write_config), reading with defaults and errors that name
// the class, the field and what came (read_config), and the docs.
#pragma once

#include <array>
#include <cstdint>
#include <map>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
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

}  // namespace lockstep
