#include "lockstep/tensor/shape.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

namespace lockstep {

int64_t Shape::size() const {
  int64_t n = 1;
  for (int64_t extent : dims_) n *= extent;
  return n;
}

Dims Shape::strides() const {
  Dims strides(dims_.size(), 1);
  for (int axis = rank() - 2; axis >= 0; --axis)
    strides[axis] = strides[axis + 1] * dims_[axis + 1];
  return strides;
}

Shape Shape::with_rows(int64_t extent) const {
  Dims dims{extent};
  dims.insert(dims.end(), dims_.begin(), dims_.end());
  return Shape(std::move(dims));
}

Shape Shape::without_rows() const {
  return Shape(Dims(dims_.begin() + 1, dims_.end()));
}

std::string Shape::str() const {
  return fmt::format("[{}]", fmt::join(dims_, ","));
}

std::string TensorType::str() const {
  return fmt::format("{}{}", dtype_name(dtype), shape.str());
}

}  // namespace lockstep
