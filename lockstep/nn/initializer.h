// Initializers, with Keras's definitions (fan rules, truncation at two deviations).
#pragma once

#include <memory>
#include <optional>

#include "lockstep/nn/config.h"
#include "lockstep/tensor/host_tensor.h"
#include "lockstep/tensor/philox.h"

namespace lockstep {

class Initializer {
 public:
  virtual ~Initializer() = default;
  virtual std::string_view class_name() const = 0;  // "GlorotUniform"
  virtual Json config() const = 0;
  /// Values for a float32 variable of this shape: a pure function of the arguments. Random ones
  /// come from the Philox stream keyed (seed, RandomPurpose::kInit, path), one draw after another
  /// in row-major order. An initializer with its own seed uses that instead of `seed`. Throws
  /// InvalidArgument where the shape does not suit (Orthogonal and Identity: rank).
  virtual HostTensor values(const Shape& shape, DType dtype, uint64_t seed,
                            std::string_view variable_path) const = 0;
};
using InitializerPtr = std::shared_ptr<const Initializer>;

/// Inputs and outputs of a unit, as Keras counts them: kernels are [receptive field..., in, out].
struct Fans {
  int64_t in = 1, out = 1;
  bool operator==(const Fans&) const = default;
};
Fans compute_fans(const Shape& shape);

/// A name ("glorot_uniform", "GlorotUniform") or a serialised object. Throws Unsupported naming
/// what Lockstep lacks, InvalidArgument for fields that do not fit.
InitializerPtr initializer_from_config(const Json& json);
Json initializer_to_config(const Initializer& initializer);

InitializerPtr Zeros();
InitializerPtr Ones();
InitializerPtr Constant(double value);
/// gain on the diagonal of a matrix, 0 elsewhere.
InitializerPtr Identity(double gain = 1.0);
/// Uniform in [minval, maxval).
InitializerPtr RandomUniform(double minval = -0.05, double maxval = 0.05,
                             std::optional<int64_t> seed = {});
InitializerPtr RandomNormal(double mean = 0.0, double stddev = 0.05,
                            std::optional<int64_t> seed = {});
/// Normal, drawn again while further than two deviations from the mean.
InitializerPtr TruncatedNormal(double mean = 0.0, double stddev = 0.05,
                               std::optional<int64_t> seed = {});
/// Orthonormal columns (or rows, where there are fewer of them) of [prod(shape[:-1]), shape[-1]],
/// times gain. Shape of rank 2 or more.
InitializerPtr Orthogonal(double gain = 1.0, std::optional<int64_t> seed = {});

struct VarianceScalingConfig {
  double scale = 1.0;                             // > 0
  std::string mode = "fan_in";                    // fan_in, fan_out or fan_avg
  std::string distribution = "truncated_normal";  // or untruncated_normal, uniform
  std::optional<int64_t> seed = std::nullopt;
};
/// Variance scale / fan: limit sqrt(3 scale / fan) or deviation sqrt(scale / fan), which truncation
/// would shrink and which is therefore divided by 0.8796... first.
InitializerPtr VarianceScaling(VarianceScalingConfig config = {});
/// VarianceScaling of (scale, mode): Glorot (1, fan_avg), He (2, fan_in), Lecun (1, fan_in).
InitializerPtr GlorotUniform(std::optional<int64_t> seed = {});
InitializerPtr GlorotNormal(std::optional<int64_t> seed = {});
InitializerPtr HeUniform(std::optional<int64_t> seed = {});
InitializerPtr HeNormal(std::optional<int64_t> seed = {});
InitializerPtr LecunUniform(std::optional<int64_t> seed = {});
InitializerPtr LecunNormal(std::optional<int64_t> seed = {});

template <>
InitializerPtr object_by_name<Initializer>(std::string_view name);

}  // namespace lockstep
