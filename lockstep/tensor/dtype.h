// Element types of tensors: one row each in dtypes.def.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string_view>

namespace lockstep {

enum class DType : uint8_t {
#define DTYPE(id, name, bytes, numpy, keras, ctype) id,
#include "lockstep/tensor/dtypes.def"
#undef DTYPE
};

/// Bytes of one element.
size_t byte_size(DType dtype);
/// Short name as in StableHLO text: "f32", "ui8", "i1".
std::string_view dtype_name(DType dtype);
/// NumPy spelling: "<f4", "|u1", "|b1".
std::string_view numpy_name(DType dtype);
/// Keras spelling: "float32", "uint8", "bool".
std::string_view keras_name(DType dtype);
std::optional<DType> dtype_from_numpy(std::string_view name);
std::optional<DType> dtype_from_keras(std::string_view name);

bool is_float(DType dtype);

/// The DType of a C++ type: dtype_of<float>() == DType::kF32.
template <class T>
constexpr DType dtype_of();
#define DTYPE(id, name, bytes, numpy, keras, ctype) \
  template <>                                       \
  constexpr DType dtype_of<ctype>() {               \
    return DType::id;                               \
  }
#include "lockstep/tensor/dtypes.def"
#undef DTYPE

}  // namespace lockstep
