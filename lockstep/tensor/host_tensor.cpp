#include "lockstep/tensor/host_tensor.h"

#include <cstdlib>

namespace lockstep {

AlignedBytes::AlignedBytes(size_t size_bytes) : size_(size_bytes) {
  if (size_bytes == 0) return;
  const size_t rounded = (size_bytes + 63) / 64 * 64;
  void* p = rounded < size_bytes ? nullptr : std::aligned_alloc(64, rounded);
  if (p == nullptr) fail(ErrorCode::kOutOfMemory, "memory", "cannot allocate {} bytes", size_bytes);
  std::memset(p, 0, rounded);
  data_.reset(static_cast<std::byte*>(p));
}

void AlignedBytes::Free::operator()(std::byte* p) const {
  std::free(p);
}

HostTensor::HostTensor(TensorType type) : type_(std::move(type)), storage_(type_.size_bytes()) {}

HostTensor::HostTensor(const HostTensor& other) : HostTensor(other.type_) {
  if (size_bytes() > 0) std::memcpy(bytes(), other.bytes(), size_bytes());
}

HostTensor& HostTensor::operator=(const HostTensor& other) {
  if (this != &other) *this = HostTensor(other);
  return *this;
}

HostTensor HostTensor::reshaped(Shape shape) const {
  if (shape.size() != size())
    invalid_argument("reshape", "sizes must match: {} to {}", type_.str(), shape.str());
  HostTensor copy = *this;
  copy.type_.shape = std::move(shape);
  return copy;
}

HostTensor HostTensor::as(DType dtype) const {
  if (dtype == type_.dtype) return *this;
  HostTensor result(dtype, shape());
  dispatch(type_.dtype, [&]<class From>() {
    dispatch(dtype, [&]<class To>() {
      const auto from = data<From>();
      const auto to = result.data<To>();
      for (size_t i = 0; i < from.size(); ++i) to[i] = static_cast<To>(from[i]);
    });
  });
  return result;
}

bool HostTensor::same_bits(const HostTensor& other) const {
  return type_ == other.type_ &&
         (size_bytes() == 0 || std::memcmp(bytes(), other.bytes(), size_bytes()) == 0);
}

}  // namespace lockstep
