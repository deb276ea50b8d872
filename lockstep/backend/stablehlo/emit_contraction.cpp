// dot_general, and conv2d with its two gradients, all three as stablehlo.convolution.
#include "lockstep/backend/stablehlo/emitter.h"

namespace lockstep {
namespace {

/// Chips compute float32 products in fewer bits unless told otherwise.
std::string_view precision(DType dtype) {
  return dtype == DType::kF32 ? "HIGHEST" : "DEFAULT";
}

/// A window as StableHLO describes it, [height, width] each.
struct ConvWindow {
  std::array<int64_t, 2> strides{1, 1}, pad_low{}, pad_high{}, lhs_dilation{1, 1},
      rhs_dilation{1, 1};
};

void define_convolution(Emitter& e, const Node& node, const std::string& lhs,
                        const TensorType& lhs_type, const std::string& rhs,
                        const TensorType& rhs_type, std::string_view dimension_numbers,
                        const ConvWindow& w, int64_t feature_groups, int64_t batch_groups) {
  e.define(node,
           "stablehlo.convolution({}, {}) dim_numbers = {}, window = {{stride = {}, pad = [[{}, "
           "{}], [{}, {}]], lhs_dilate = {}, rhs_dilate = {}}} {{batch_group_count = {} : i64, "
           "feature_group_count = {} : i64, precision_config = [#stablehlo<precision {}>, "
           "#stablehlo<precision {}>]}} : ({}, {}) -> {}",
           lhs, rhs, dimension_numbers, mlir_list(w.strides), w.pad_low[0], w.pad_high[0],
           w.pad_low[1], w.pad_high[1], mlir_list(w.lhs_dilation), mlir_list(w.rhs_dilation),
           batch_groups, feature_groups, precision(lhs_type.dtype), precision(lhs_type.dtype),
           mlir_type(lhs_type), mlir_type(rhs_type), e.tensor(node.results[0]));
}

/// Extents along one spatial axis, the gaps of dilation and strides counted in.
struct Extents {
  int64_t window, spread_output;
  Extents(const ConvAttrs& a, int axis, const Shape& kernel, const Shape& y)
      : window((kernel[axis] - 1) * a.dilation[static_cast<size_t>(axis)] + 1),
        spread_output((y[axis + 1] - 1) * a.strides[static_cast<size_t>(axis)] + 1) {}
};

/// [kh, kw, in/groups, out] with the roles of in and out changed inside each group:
/// [kh, kw, in, out/groups].
std::string regroup_kernel(Emitter& e, const std::string& kernel, TensorType& type,
                           int64_t groups) {
  if (groups == 1) return kernel;
  const Shape k = type.shape;
  const Shape split{k[0], k[1], k[2], groups, k[3] / groups},
      moved{k[0], k[1], groups, k[2], k[3] / groups};
  const std::string parts = e.reshape(kernel, type, split);
  const std::string turned =
      e.let("stablehlo.transpose {}, dims = [0, 1, 3, 2, 4] : ({}) -> {}", parts,
            mlir_type({type.dtype, split}), mlir_type({type.dtype, moved}));
  type.shape = {k[0], k[1], groups * k[2], k[3] / groups};
  return e.reshape(turned, {type.dtype, moved}, type.shape);
}

}  // namespace

void emit_DotGeneral(Emitter& e, const Node& node) {
  const auto& a = node.as<DotAttrs>();
  const std::string batching = a.lhs_batch.empty()
                                   ? ""
                                   : fmt::format("batching_dims = {} x {}, ",
                                                 mlir_list(a.lhs_batch), mlir_list(a.rhs_batch));
  const std::string_view p = precision(e.type(node.operands[0]).dtype);
  e.define(node,
           "stablehlo.dot_general {}, {}, {}contracting_dims = {} x {}, precision = [{}, {}] : "
           "({}, {}) -> {}",
           e.name(node.operands[0]), e.name(node.operands[1]), batching,
           mlir_list(a.lhs_contracting), mlir_list(a.rhs_contracting), p, p,
           e.tensor(node.operands[0]), e.tensor(node.operands[1]), e.tensor(node.results[0]));
}

void emit_Conv2d(Emitter& e, const Node& node) {
  const auto& a = node.as<ConvAttrs>();
  define_convolution(e, node, e.name(node.operands[0]), e.type(node.operands[0]),
                     e.name(node.operands[1]), e.type(node.operands[1]),
                     "[b, 0, 1, f]x[0, 1, i, o]->[b, 0, 1, f]",
                     {.strides = a.strides,
                      .pad_low = a.pad_low,
                      .pad_high = a.pad_high,
                      .rhs_dilation = a.dilation},
                     a.groups, 1);
}

/// dy, spread by the strides, convolved with the kernel turned round. The turn is an op of its own:
/// for that form XLA has fast kernels on CPUs and more compact plans for GPUs than for a window
/// that is reversed.
void emit_Conv2dInputGradient(Emitter& e, const Node& node) {
  const auto& a = node.as<ConvAttrs>();
  const TensorType& dy = e.type(node.operands[0]);
  TensorType kernel = e.type(node.operands[1]);
  ConvWindow w{.lhs_dilation = a.strides, .rhs_dilation = a.dilation};
  for (int axis = 0; axis < 2; ++axis) {
    const auto i = static_cast<size_t>(axis);
    const Extents extents(a, axis, kernel.shape, dy.shape);
    w.pad_low[i] = extents.window - 1 - a.pad_low[i];
    w.pad_high[i] = a.shape[axis + 1] + extents.window - 1 - extents.spread_output - w.pad_low[i];
  }
  const std::string regrouped = regroup_kernel(e, e.name(node.operands[1]), kernel, a.groups);
  const std::string turned =
      e.let("stablehlo.reverse {}, dims = [0, 1] : {}", regrouped, mlir_type(kernel));
  define_convolution(e, node, e.name(node.operands[0]), dy, turned, kernel,
                     "[b, 0, 1, f]x[0, 1, o, i]->[b, 0, 1, f]", w, a.groups, 1);
}

/// x convolved with dy spread by the strides; rows of the batch are what is summed over.
void emit_Conv2dKernelGradient(Emitter& e, const Node& node) {
  const auto& a = node.as<ConvAttrs>();
  const TensorType &x = e.type(node.operands[0]), &dy = e.type(node.operands[1]);
  ConvWindow w{.strides = a.dilation, .pad_low = a.pad_low, .rhs_dilation = a.strides};
  for (int axis = 0; axis < 2; ++axis) {
    const auto i = static_cast<size_t>(axis);
    const Extents extents(a, axis, a.shape, dy.shape);
    w.pad_high[i] = extents.spread_output + extents.window - 1 - x.shape[axis + 1] - a.pad_low[i];
  }
  define_convolution(e, node, e.name(node.operands[0]), x, e.name(node.operands[1]), dy,
                     "[f, 0, 1, b]x[i, 0, 1, o]->[0, 1, b, f]", w, 1, a.groups);
}

}  // namespace lockstep
