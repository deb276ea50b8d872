#include "lockstep/tensor/dtype.h"

#include <array>

namespace lockstep {
namespace {

struct Row {
  std::string_view name;
  size_t bytes;
  std::string_view numpy, keras;
};

constexpr Row kRows[] = {
#define DTYPE(id, name, bytes, numpy, keras, ctype) {name, bytes, numpy, keras},
#include "lockstep/tensor/dtypes.def"
#undef DTYPE
};

const Row& row(DType dtype) {
  return kRows[static_cast<size_t>(dtype)];
}

template <class Field>
std::optional<DType> find(std::string_view text, Field field) {
  for (size_t i = 0; i < std::size(kRows); ++i)
    if (kRows[i].*field == text) return static_cast<DType>(i);
  return std::nullopt;
}

}  // namespace

size_t byte_size(DType dtype) {
  return row(dtype).bytes;
}
std::string_view dtype_name(DType dtype) {
  return row(dtype).name;
}
std::string_view numpy_name(DType dtype) {
  return row(dtype).numpy;
}
std::string_view keras_name(DType dtype) {
  return row(dtype).keras;
}
std::optional<DType> dtype_from_numpy(std::string_view name) {
  return find(name, &Row::numpy);
}
std::optional<DType> dtype_from_keras(std::string_view name) {
  return find(name, &Row::keras);
}
bool is_float(DType dtype) {
  return dtype == DType::kF32 || dtype == DType::kF64;
}

}  // namespace lockstep
