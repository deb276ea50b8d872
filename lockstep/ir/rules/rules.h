// What authors of op rules share: checks, loops over indices, sample tensors.
#pragma once

#include <algorithm>
#include <cmath>
#include <limits>
#include <vector>

#include "lockstep/ir/builder.h"
#include "lockstep/tensor/philox.h"

/// Defines the rules of an op: DEFINE_RULES(Add, {.infer = ..., .vjp = ..., ...}).
#define DEFINE_RULES(Id, ...)                         \
  const OpRules& Id##_rules() {                       \
    static const OpRules rules = OpRules __VA_ARGS__; \
    return rules;                                     \
  }

namespace lockstep::rules {

using Types = std::span<const TensorType>;
using Inputs = std::span<const HostTensor* const>;
using Outputs = std::span<HostTensor>;

/// Throws unless `type` is f32 or f64.
inline void require_float(const char* op, const TensorType& type) {
  if (!is_float(type.dtype)) invalid_argument(op, "operand must be f32 or f64: {}", type.str());
}

inline void require_same(const char* op, const TensorType& a, const TensorType& b) {
  if (!(a == b)) invalid_argument(op, "operands must have one type: {} and {}", a.str(), b.str());
}

/// Throws where an extent is negative: "unknown" has no place in a graph.
inline void require_known(const char* op, const TensorType& type) {
  if (std::any_of(type.shape.begin(), type.shape.end(), [](int64_t extent) { return extent < 0; }))
    invalid_argument(op, "extents must not be negative: {}", type.str());
}

inline void require_rank(const char* op, const TensorType& type, int rank) {
  if (type.shape.rank() != rank)
    invalid_argument(op, "operand must have rank {}: {}", rank, type.str());
}

inline void require_axis(const char* op, const TensorType& type, int64_t axis) {
  if (axis < 0 || axis >= type.shape.rank())
    invalid_argument(op, "axis must be below the rank of {}: {}", type.str(), axis);
}

/// Throws unless `axes` are below the rank, ascending, and none comes twice.
inline void require_axes(const char* op, const TensorType& type, const Dims& axes) {
  for (size_t i = 0; i < axes.size(); ++i) {
    require_axis(op, type, axes[i]);
    if (i > 0 && axes[i - 1] >= axes[i])
      invalid_argument(op, "axes must ascend: {} before {}", axes[i - 1], axes[i]);
  }
}

/// A mnemonic as a template argument: infer_float<"relu">.
template <size_t kLength>
struct OpName {
  char text[kLength];
  constexpr OpName(const char (&name)[kLength]) { std::copy_n(name, kLength, text); }
};

/// Shape rule of ops that map a float tensor to one of the same type.
template <OpName kName>
std::vector<TensorType> infer_float(Types types, const Attrs&) {
  require_float(kName.text, types[0]);
  return {types[0]};
}

/// Shape rule of ops that map two float tensors of one type to a third.
template <OpName kName>
std::vector<TensorType> infer_float_pair(Types types, const Attrs&) {
  require_float(kName.text, types[0]);
  require_same(kName.text, types[0], types[1]);
  return {types[0]};
}

/// Calls body.operator()<T>() for f32 and f64.
template <class Body>
void dispatch_float(DType dtype, Body&& body) {
  LOCKSTEP_CHECK(is_float(dtype));
  dtype == DType::kF32 ? body.template operator()<float>() : body.template operator()<double>();
}

/// Visits every index of `shape` in row-major order: body(index).
template <class Body>
void for_each_index(const Shape& shape, Body&& body) {
  if (shape.size() == 0) return;
  Dims index(static_cast<size_t>(shape.rank()), 0);
  for (;;) {
    body(static_cast<const Dims&>(index));
    int axis = shape.rank() - 1;
    while (axis >= 0 && ++index[static_cast<size_t>(axis)] == shape[axis])
      index[static_cast<size_t>(axis--)] = 0;
    if (axis < 0) return;
  }
}

inline int64_t linear_index(const Dims& index, const Dims& strides) {
  int64_t linear = 0;
  for (size_t i = 0; i < index.size(); ++i) linear += index[i] * strides[i];
  return linear;
}

/// Copies element `from` of `source` to element `to` of `target`, whatever the dtype.
inline void copy_element(const HostTensor& source, int64_t from, HostTensor& target, int64_t to) {
  const size_t bytes = byte_size(source.dtype());
  std::memcpy(target.bytes() + static_cast<size_t>(to) * bytes,
              source.bytes() + static_cast<size_t>(from) * bytes, bytes);
}

constexpr float kInf = std::numeric_limits<float>::infinity();
constexpr float kNan = std::numeric_limits<float>::quiet_NaN();

/// Uniform f32 values in [low, high), a function of `seed` alone.
inline HostTensor uniform(const Shape& shape, double low, double high, uint64_t seed) {
  HostTensor tensor(DType::kF32, shape);
  PhiloxStream stream(philox_key(seed, RandomPurpose::kInit, "sample"));
  for (float& value : tensor.data<float>())
    value = static_cast<float>(low + (high - low) * stream.uniform());
  return tensor;
}

inline HostTensor floats(const Shape& shape, std::initializer_list<float> values) {
  return HostTensor::of<float>(shape, values);
}

inline std::vector<Value> no_gradient(size_t operands) {
  return std::vector<Value>(operands);
}

}  // namespace lockstep::rules
