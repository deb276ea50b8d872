// Shapes and tensor types: static, row-major, printed as "f32[32,784]".
#pragma once

#include <cstdint>
#include <initializer_list>
#include <string>
#include <vector>

#include "lockstep/tensor/dtype.h"

namespace lockstep {

using Dims = std::vector<int64_t>;

/// Extents of a dense row-major tensor; rank 0 is a scalar. -1 stands for "unknown" only where a
/// layer's input shape has a free batch or spatial axis; graph types never hold it.
class Shape {
 public:
  Shape() = default;
  Shape(std::initializer_list<int64_t> dims) : dims_(dims) {}
  explicit Shape(Dims dims) : dims_(std::move(dims)) {}

  int rank() const { return static_cast<int>(dims_.size()); }
  /// Number of elements: the product of all extents, 1 for a scalar.
  int64_t size() const;
  int64_t operator[](int axis) const { return dims_[axis]; }
  int64_t& operator[](int axis) { return dims_[axis]; }
  int64_t back() const { return dims_.back(); }
  const Dims& dims() const { return dims_; }
  Dims& dims() { return dims_; }
  auto begin() const { return dims_.begin(); }
  auto end() const { return dims_.end(); }
  /// Row-major strides in elements.
  Dims strides() const;
  /// This shape with `extent` put before axis 0, and without axis 0.
  Shape with_rows(int64_t extent) const;
  Shape without_rows() const;
  std::string str() const;  // "[32,784]"

  bool operator==(const Shape&) const = default;

 private:
  Dims dims_;
};

struct TensorType {
  DType dtype = DType::kF32;
  Shape shape;

  int64_t size() const { return shape.size(); }
  size_t size_bytes() const { return static_cast<size_t>(size()) * byte_size(dtype); }
  std::string str() const;  // "f32[32,784]"
  bool operator==(const TensorType&) const = default;
};

}  // namespace lockstep
