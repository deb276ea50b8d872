#include "lockstep/nn/layers/upsampling.h"

#include "lockstep/nn/layers/layer_of.h"
#include "lockstep/nn/layers/window.h"

namespace lockstep {
namespace {

/// The part [begin, end) along one axis.
Value part(Builder& builder, Value x, int axis, int64_t begin, int64_t end) {
  Dims starts(static_cast<size_t>(x.shape().rank())), limits = x.shape().dims(),
                                                      strides(starts.size(), 1);
  starts[static_cast<size_t>(axis)] = begin;
  limits[static_cast<size_t>(axis)] = end;
  return builder.slice(x, starts, limits, strides);
}

/// Each pixel `factors` times: copies along new axes, which then join the old ones.
Value repeat(Builder& builder, Value x, const Pair& factors) {
  const Shape& s = x.shape();
  const Value copies = builder.broadcast_in_dim(
      x, {s[0], s[1], factors.height, s[2], factors.width, s[3]}, {0, 1, 3, 5});
  return builder.reshape(copies, {s[0], s[1] * factors.height, s[2] * factors.width, s[3]});
}

/// Linear interpolation along one axis: result pixel i * factor + p lies (p + 1/2) / factor - 1/2
/// pixels after pixel i, between it and a neighbour.
Value interpolate(Builder& builder, Value x, int axis, int64_t factor) {
  const int64_t extent = x.shape()[axis];
  if (factor == 1) return x;
  const auto with_edge = [&](int64_t edge, int64_t begin, int64_t end) {
    const Value outermost = part(builder, x, axis, edge, edge + 1);
    if (extent == 1) return outermost;
    const Value inner = part(builder, x, axis, begin, end);
    return edge == 0 ? builder.concatenate({outermost, inner}, axis)
                     : builder.concatenate({inner, outermost}, axis);
  };
  const Value before = with_edge(0, 0, extent - 1), after = with_edge(extent - 1, 1, extent);
  Dims split = x.shape().dims();
  split.insert(split.begin() + axis + 1, 1);
  std::vector<Value> phases;
  for (int64_t p = 0; p < factor; ++p) {
    const double offset = (static_cast<double>(p) + 0.5) / static_cast<double>(factor) - 0.5;
    const double share = offset < 0 ? -offset : offset;
    Value y = builder.multiply(x, 1.0 - share);
    if (share > 0) y = builder.add(y, builder.multiply(offset < 0 ? before : after, share));
    phases.push_back(builder.reshape(y, Shape(split)));
  }
  Dims joined = x.shape().dims();
  joined[static_cast<size_t>(axis)] *= factor;
  return builder.reshape(builder.concatenate(phases, axis + 1), Shape(joined));
}

class UpSampling2DLayer final : public LayerOf<UpSampling2DConfig> {
 public:
  explicit UpSampling2DLayer(UpSampling2DConfig config) : LayerOf(std::move(config)) {
    check_positive(*this, "size", config_.size);
    if (config_.interpolation != "nearest" && config_.interpolation != "bilinear")
      unsupported(label(), "unsupported `interpolation` \"{}\": nearest and bilinear are supported",
                  config_.interpolation);
  }

  std::vector<Value> call(CallContext& context, const std::vector<Value>& inputs) override {
    check_rank(*this, inputs[0].shape(), 4);
    Builder& builder = context.builder;
    if (config_.interpolation == "nearest") return {repeat(builder, inputs[0], config_.size)};
    const Value rows = interpolate(builder, as_float(builder, inputs[0]), 1, config_.size.height);
    return {interpolate(builder, rows, 2, config_.size.width)};
  }
};

}  // namespace

LayerHandle UpSampling2D(UpSampling2DConfig config) {
  return LayerHandle(std::make_shared<UpSampling2DLayer>(std::move(config)));
}

LayerClass UpSampling2D_layer_class(std::string_view summary) {
  return layer_class<UpSampling2DLayer>(summary);
}

}  // namespace lockstep
