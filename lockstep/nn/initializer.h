// Initializers, with Keras's definitions (fan rules, truncation at two deviations).
#pragma once

#include <memory>

#include "lockstep/nn/config.h"
#include "lockstep/tensor/host_tensor.h"
#include "lockstep/tensor/philox.h"

namespace lockstep {

class Initializer {
 public:
  virtual ~Initializer() = default;
  virtual std::string_view class_name() const = 0;  // "GlorotUniform"
  virtual Json config() const = 0;
  /// Values for a variable of this shape. An initializer with its own seed ignores `seed`.
  virtual HostTensor values(const Shape& shape, DType dtype, uint64_t seed,
                            std::string_view variable_path) const = 0;
};
using InitializerPtr = std::shared_ptr<const Initializer>;

InitializerPtr initializer_from_config(const Json& json);
Json initializer_to_config(const Initializer& initializer);

}  // namespace lockstep
