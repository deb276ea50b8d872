#include "lockstep/nn/layers/reshaping.h"

#include <algorithm>

#include "lockstep/nn/layers/layer_of.h"

namespace lockstep {
namespace {

class FlattenLayer final : public LayerOf<FlattenConfig> {
 public:
  using LayerOf::LayerOf;
  std::vector<Value> call(CallContext& context, const std::vector<Value>& inputs) override {
    const int64_t rows = inputs[0].shape()[0];
    return {context.builder.reshape(inputs[0], {rows, inputs[0].shape().size() / rows})};
  }
};

class ReshapeLayer final : public LayerOf<ReshapeConfig> {
 public:
  explicit ReshapeLayer(ReshapeConfig config) : LayerOf(std::move(config)) {
    const Dims& dims = config_.target_shape;
    if (std::count(dims.begin(), dims.end(), -1) > 1 ||
        std::any_of(dims.begin(), dims.end(), [](int64_t d) { return d < -1 || d == 0; }))
      invalid_argument(label(), "`target_shape` must be > 0, at most one -1: {}",
                       Shape(dims).str());
  }
  bool has_build_config() const override { return false; }
  std::vector<Value> call(CallContext& context, const std::vector<Value>& inputs) override {
    const Shape& shape = inputs[0].shape();
    return {context.builder.reshape(inputs[0], row_shape(shape).with_rows(shape[0]))};
  }

 private:
  Shape row_shape(const Shape& input) const {
    Shape target(config_.target_shape);
    const int64_t size = input.without_rows().size();
    int free_axis = -1;
    int64_t known = 1;
    for (int axis = 0; axis < target.rank(); ++axis) {
      if (target[axis] == -1)
        free_axis = axis;
      else
        known *= target[axis];
    }
    const bool fits = free_axis < 0 ? known == size : size % known == 0;
    if (!fits)
      invalid_argument(label(), "`target_shape` {} must hold a row's {} elements: {} came",
                       target.str(), size, input.str());
    if (free_axis >= 0) target[free_axis] = size / known;
    return target;
  }
};

class PermuteLayer final : public LayerOf<PermuteConfig> {
 public:
  using LayerOf::LayerOf;
  std::vector<Value> call(CallContext& context, const std::vector<Value>& inputs) override {
    Dims axes{0};
    axes.insert(axes.end(), config_.dims.begin(), config_.dims.end());
    Dims sorted = axes;
    std::sort(sorted.begin(), sorted.end());
    bool is_permutation = static_cast<int>(axes.size()) == inputs[0].shape().rank();
    for (size_t i = 0; i < sorted.size(); ++i)
      is_permutation = is_permutation && sorted[i] == static_cast<int64_t>(i);
    if (!is_permutation)
      invalid_argument(label(),
                       "`dims` must be a permutation of the input's axes from 1: {} for {}",
                       Shape(config_.dims).str(), inputs[0].shape().str());
    return {context.builder.transpose(inputs[0], axes)};
  }
};

void check_margins(const Layer& layer, std::string_view field, const Margins& m) {
  if (m.top < 0 || m.bottom < 0 || m.left < 0 || m.right < 0)
    invalid_argument(layer.label(), "`{}` must be >= 0: [[{}, {}], [{}, {}]]", field, m.top,
                     m.bottom, m.left, m.right);
}

class ZeroPadding2DLayer final : public LayerOf<ZeroPadding2DConfig> {
 public:
  explicit ZeroPadding2DLayer(ZeroPadding2DConfig config) : LayerOf(std::move(config)) {
    check_margins(*this, "padding", config_.padding);
  }
  std::vector<Value> call(CallContext& context, const std::vector<Value>& inputs) override {
    check_rank(*this, inputs[0].shape(), 4);
    const Margins& m = config_.padding;
    const Value zero = context.builder.constant(0.0, inputs[0].dtype());
    return {context.builder.pad(inputs[0], zero, {0, m.top, m.left, 0}, {0, m.bottom, m.right, 0},
                                {0, 0, 0, 0})};
  }
};

class Cropping2DLayer final : public LayerOf<Cropping2DConfig> {
 public:
  explicit Cropping2DLayer(Cropping2DConfig config) : LayerOf(std::move(config)) {
    check_margins(*this, "cropping", config_.cropping);
  }
  std::vector<Value> call(CallContext& context, const std::vector<Value>& inputs) override {
    const Shape& image = inputs[0].shape();
    check_rank(*this, image, 4);
    const Margins& m = config_.cropping;
    if (m.top + m.bottom >= image[1] || m.left + m.right >= image[2])
      invalid_argument(label(), "`cropping` must leave something of the image: {} came",
                       image.str());
    return {context.builder.slice(inputs[0], {0, m.top, m.left, 0},
                                  {image[0], image[1] - m.bottom, image[2] - m.right, image[3]},
                                  {1, 1, 1, 1})};
  }
};

class RescalingLayer final : public LayerOf<RescalingConfig> {
 public:
  using LayerOf::LayerOf;
  std::vector<Value> call(CallContext& context, const std::vector<Value>& inputs) override {
    Builder& builder = context.builder;
    const Value x = as_float(builder, inputs[0]);
    return {builder.add(builder.multiply(x, config_.scale), config_.offset)};
  }
};

}  // namespace

LayerHandle Flatten(FlattenConfig config) {
  return LayerHandle(std::make_shared<FlattenLayer>(std::move(config)));
}

LayerHandle Reshape(ReshapeConfig config) {
  return LayerHandle(std::make_shared<ReshapeLayer>(std::move(config)));
}

LayerHandle Permute(PermuteConfig config) {
  return LayerHandle(std::make_shared<PermuteLayer>(std::move(config)));
}

LayerHandle ZeroPadding2D(ZeroPadding2DConfig config) {
  return LayerHandle(std::make_shared<ZeroPadding2DLayer>(std::move(config)));
}

LayerHandle Cropping2D(Cropping2DConfig config) {
  return LayerHandle(std::make_shared<Cropping2DLayer>(std::move(config)));
}

LayerHandle Rescaling(RescalingConfig config) {
  return LayerHandle(std::make_shared<RescalingLayer>(std::move(config)));
}

LayerClass Flatten_layer_class(std::string_view summary) {
  return layer_class<FlattenLayer>(summary);
}

LayerClass Reshape_layer_class(std::string_view summary) {
  return layer_class<ReshapeLayer>(summary);
}

LayerClass Permute_layer_class(std::string_view summary) {
  return layer_class<PermuteLayer>(summary);
}

LayerClass ZeroPadding2D_layer_class(std::string_view summary) {
  return layer_class<ZeroPadding2DLayer>(summary);
}

LayerClass Cropping2D_layer_class(std::string_view summary) {
  return layer_class<Cropping2DLayer>(summary);
}

LayerClass Rescaling_layer_class(std::string_view summary) {
  return layer_class<RescalingLayer>(summary);
}

}  // namespace lockstep
