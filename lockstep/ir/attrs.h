// Attributes of ops: what is fixed when a graph is built and is not a tensor.
#pragma once

#include <array>
#include <string>
#include <variant>

#include "lockstep/tensor/host_tensor.h"

namespace lockstep {

struct NoAttrs {
  bool operator==(const NoAttrs&) const = default;
};

/// What a parameter of a program is; a backend may prepare kWeight values once a step.
enum class ParameterRole { kData, kWeight, kScalar };

struct ParameterAttrs {
  int index = 0;  // position in the program's inputs
  std::string name;
  ParameterRole role = ParameterRole::kData;
  TensorType type;
  bool operator==(const ParameterAttrs&) const = default;
};

/// One element stands for all of them when `value` is a scalar and `type` is not.
struct ConstantAttrs {
  TensorType type;
  HostTensor value;
  bool is_splat() const { return value.size() == 1; }
  bool operator==(const ConstantAttrs& o) const {
    return type == o.type && value.same_bits(o.value);
  }
};

struct IotaAttrs {
  TensorType type;
  int dimension = 0;
  bool operator==(const IotaAttrs&) const = default;
};

enum class CompareDirection { kEq, kNe, kLt, kLe, kGt, kGe };
struct CompareAttrs {
  CompareDirection direction = CompareDirection::kEq;
  bool operator==(const CompareAttrs&) const = default;
};

struct ConvertAttrs {
  DType dtype = DType::kF32;
  bool operator==(const ConvertAttrs&) const = default;
};

struct ReshapeAttrs {
  Shape shape;
  bool operator==(const ReshapeAttrs&) const = default;
};

struct TransposeAttrs {
  Dims permutation;  // result axis i is operand axis permutation[i]
  bool operator==(const TransposeAttrs&) const = default;
};

struct BroadcastAttrs {
  Shape shape;
  Dims
      dimensions;  // operand axis i becomes result axis dimensions[i]; ascending; extent equal or 1
  bool operator==(const BroadcastAttrs&) const = default;
};

struct SliceAttrs {
  Dims start, limit, strides;
  bool operator==(const SliceAttrs&) const = default;
};

struct PadAttrs {
  Dims low, high, interior;  // low and high may be negative (crop); operand 1 is the scalar value
  bool operator==(const PadAttrs&) const = default;
};

struct AxisAttrs {
  int axis = -1;  // never negative in a graph
  bool operator==(const AxisAttrs&) const = default;
};

struct AxesAttrs {
  Dims axes;  // ascending
  bool operator==(const AxesAttrs&) const = default;
};

/// dot_general: result axes are batch, lhs free, rhs free, as in StableHLO.
struct DotAttrs {
  Dims lhs_batch, rhs_batch, lhs_contracting, rhs_contracting;
  bool operator==(const DotAttrs&) const = default;
};

/// 2-D convolution of NHWC by HWIO (kernel [kh, kw, in/groups, out]).
struct ConvAttrs {
  std::array<int64_t, 2> strides{1, 1}, dilation{1, 1}, pad_low{0, 0}, pad_high{0, 0};
  int64_t groups = 1;
  Shape shape;  // result of the two gradients (input's or kernel's shape); empty for conv2d
  bool operator==(const ConvAttrs&) const = default;
};

/// 2-D pooling of NHWC. Padding never takes part: not in the maximum, not in the average's count.
struct PoolAttrs {
  std::array<int64_t, 2> window{1, 1}, strides{1, 1}, pad_low{0, 0}, pad_high{0, 0};
  Shape shape;  // avg_pool2d_gradient: the input's shape
  bool operator==(const PoolAttrs&) const = default;
};

struct EpsilonAttrs {
  double epsilon = 1e-3;
  bool operator==(const EpsilonAttrs&) const = default;
};

struct EluAttrs {
  double alpha = 1.0, scale = 1.0;  // y = scale*x for x > 0, scale*alpha*(exp(x)-1) else
  bool operator==(const EluAttrs&) const = default;
};

struct DropoutAttrs {
  double rate = 0.5;
  uint32_t site = 0;  // call site: layer index * 2^16 + node index in the saved configuration
  bool operator==(const DropoutAttrs&) const = default;
};

using Attrs =
    std::variant<NoAttrs, ParameterAttrs, ConstantAttrs, IotaAttrs, CompareAttrs, ConvertAttrs,
                 ReshapeAttrs, TransposeAttrs, BroadcastAttrs, SliceAttrs, PadAttrs, AxisAttrs,
                 AxesAttrs, DotAttrs, ConvAttrs, PoolAttrs, EpsilonAttrs, EluAttrs, DropoutAttrs>;

}  // namespace lockstep
