// A dense row-major tensor in host memory: what tests, files and the reference backend speak.
#pragma once

#include <cstring>
#include <memory>
#include <span>

#include "lockstep/base/error.h"
#include "lockstep/tensor/shape.h"

namespace lockstep {

/// Host memory aligned to 64 bytes, zero-filled. Throws OutOfMemory naming the size.
class AlignedBytes {
 public:
  AlignedBytes() = default;
  explicit AlignedBytes(size_t size_bytes);
  std::byte* data() const { return data_.get(); }
  size_t size() const { return size_; }

 private:
  struct Free {
    void operator()(std::byte* p) const;
  };
  std::unique_ptr<std::byte, Free> data_;
  size_t size_ = 0;
};

/// Value semantics: a copy owns its own elements.
class HostTensor {
 public:
  /// No elements: shape [0].
  HostTensor() : type_{DType::kF32, Shape{0}} {}
  explicit HostTensor(TensorType type);
  HostTensor(DType dtype, Shape shape) : HostTensor(TensorType{dtype, std::move(shape)}) {}
  HostTensor(const HostTensor& other);
  HostTensor& operator=(const HostTensor& other);
  HostTensor(HostTensor&&) noexcept = default;
  HostTensor& operator=(HostTensor&&) noexcept = default;

  /// A tensor of `values.size()` elements; throws when the shape holds another number.
  template <class T>
  static HostTensor of(const Shape& shape, std::initializer_list<T> values) {
    return from(shape, std::span<const T>(values.begin(), values.size()));
  }
  template <class T>
  static HostTensor from(const Shape& shape, std::span<const T> values) {
    HostTensor tensor(dtype_of<T>(), shape);
    if (static_cast<int64_t>(values.size()) != shape.size())
      invalid_argument("tensor", "shape {} holds {} elements: {} values came", shape.str(),
                       shape.size(), values.size());
    std::copy(values.begin(), values.end(), tensor.data<T>().begin());
    return tensor;
  }
  template <class T>
  static HostTensor scalar(T value) {
    return of<T>(Shape{}, {value});
  }

  const TensorType& type() const { return type_; }
  DType dtype() const { return type_.dtype; }
  const Shape& shape() const { return type_.shape; }
  int64_t size() const { return type_.size(); }
  size_t size_bytes() const { return type_.size_bytes(); }
  std::byte* bytes() { return storage_.data(); }
  const std::byte* bytes() const { return storage_.data(); }

  /// The elements as T; our bug when T is not the dtype's C++ type.
  template <class T>
  std::span<T> data() {
    LOCKSTEP_CHECK(dtype_of<T>() == type_.dtype);
    return {reinterpret_cast<T*>(storage_.data()), static_cast<size_t>(size())};
  }
  template <class T>
  std::span<const T> data() const {
    LOCKSTEP_CHECK(dtype_of<T>() == type_.dtype);
    return {reinterpret_cast<const T*>(storage_.data()), static_cast<size_t>(size())};
  }

  /// The same elements under another shape of equal size.
  HostTensor reshaped(Shape shape) const;
  /// Converted element by element with C++ conversion rules (float to bool: non-zero).
  HostTensor as(DType dtype) const;
  /// Same type and same bits.
  bool same_bits(const HostTensor& other) const;

 private:
  TensorType type_;
  AlignedBytes storage_;
};

/// Calls `body.template operator()<T>()` with the C++ type of `dtype`.
template <class Body>
decltype(auto) dispatch(DType dtype, Body&& body) {
  switch (dtype) {
#define DTYPE(id, name, bytes, numpy, keras, ctype) \
  case DType::id:                                   \
    return body.template operator()<ctype>();
#include "lockstep/tensor/dtypes.def"
#undef DTYPE
  }
  check_failed("a known dtype", __FILE__, __LINE__);
}

}  // namespace lockstep
