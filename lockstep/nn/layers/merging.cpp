#include "lockstep/nn/layers/merging.h"

#include <algorithm>

#include "lockstep/nn/layers/layer_of.h"

namespace lockstep {
namespace {

std::string shapes_text(const std::vector<Value>& values) {
  std::vector<std::string> shapes;
  for (const Value& value : values) shapes.push_back(value.shape().str());
  return fmt::format("{}", fmt::join(shapes, ", "));
}

/// Inputs of one dtype: their own where it is the same, else float32.
std::vector<Value> of_one_dtype(Builder& builder, std::vector<Value> values) {
  const DType dtype = values[0].dtype();
  const auto is_same = [&](const Value& value) { return value.dtype() == dtype; };
  if (std::all_of(values.begin(), values.end(), is_same)) return values;
  for (Value& value : values) value = as_float(builder, value);
  return values;
}

/// Axes of 1 behind the batch, until all have the same rank.
std::vector<Value> of_one_rank(Builder& builder, std::vector<Value> values) {
  int rank = 0;
  for (const Value& value : values) rank = std::max(rank, value.shape().rank());
  for (Value& value : values) {
    Dims dims = value.shape().dims();
    dims.insert(dims.begin() + 1, rank - dims.size(), 1);
    value = builder.reshape(value, Shape(dims));
  }
  return values;
}

template <class Config, Value (Builder::*merge)(Value, Value)>
class MergeLayer : public LayerOf<Config> {
 public:
  using LayerOf<Config>::LayerOf;

  std::optional<int> input_count() const override { return std::nullopt; }

  std::vector<Value> call(CallContext& context, const std::vector<Value>& inputs) override {
    Builder& builder = context.builder;
    check_shapes(inputs);
    const std::vector<Value> values = of_one_rank(builder, of_one_dtype(builder, inputs));
    Value result = values[0];
    for (size_t i = 1; i < values.size(); ++i) result = (builder.*merge)(result, values[i]);
    return {result};
  }

 private:
  void check_shapes(const std::vector<Value>& inputs) const {
    int rank = 0;
    for (const Value& input : inputs) rank = std::max(rank, input.shape().rank());
    // Extents from the last axis backwards; behind the batch a missing one counts as 1.
    for (int i = 1; i < rank; ++i) {
      int64_t extent = 1;
      for (const Value& input : inputs) {
        const Shape& shape = input.shape();
        const int axis = shape.rank() - i;
        const int64_t own = axis > 0 ? shape[axis] : 1;
        if (extent != 1 && own != 1 && own != extent)
          invalid_argument(this->label(), "shapes must be equal or broadcast: {}",
                           shapes_text(inputs));
        extent = std::max(extent, own);
      }
    }
  }
};

using AddLayer = MergeLayer<AddConfig, &Builder::add>;
using MultiplyLayer = MergeLayer<MultiplyConfig, &Builder::multiply>;
using MaximumLayer = MergeLayer<MaximumConfig, &Builder::maximum>;
using MinimumLayer = MergeLayer<MinimumConfig, &Builder::minimum>;

class SubtractLayer final : public MergeLayer<SubtractConfig, &Builder::subtract> {
 public:
  using MergeLayer::MergeLayer;
  std::vector<Value> call(CallContext& context, const std::vector<Value>& inputs) override {
    if (inputs.size() != 2)
      invalid_argument(label(), "it must be called on two tensors: {} came", inputs.size());
    return MergeLayer::call(context, inputs);
  }
};

class AverageLayer final : public MergeLayer<AverageConfig, &Builder::add> {
 public:
  using MergeLayer::MergeLayer;
  std::vector<Value> call(CallContext& context, const std::vector<Value>& inputs) override {
    const Value sum = as_float(context.builder, MergeLayer::call(context, inputs)[0]);
    return {context.builder.divide(sum, static_cast<double>(inputs.size()))};
  }
};

class ConcatenateLayer final : public LayerOf<ConcatenateConfig> {
 public:
  using LayerOf::LayerOf;

  std::optional<int> input_count() const override { return std::nullopt; }

  std::vector<Value> call(CallContext& context, const std::vector<Value>& inputs) override {
    const int axis = checked_axis(*this, config_.axis, inputs[0].shape());
    for (const Value& input : inputs) {
      Shape joined = input.shape();
      if (joined.rank() > axis) joined[axis] = inputs[0].shape()[axis];
      if (joined != inputs[0].shape())
        invalid_argument(label(), "shapes must be equal but for axis {}: {}", config_.axis,
                         shapes_text(inputs));
    }
    return {context.builder.concatenate(of_one_dtype(context.builder, inputs), axis)};
  }
};

}  // namespace

LayerHandle Add(AddConfig config) {
  return LayerHandle(std::make_shared<AddLayer>(std::move(config)));
}

LayerHandle Subtract(SubtractConfig config) {
  return LayerHandle(std::make_shared<SubtractLayer>(std::move(config)));
}

LayerHandle Multiply(MultiplyConfig config) {
  return LayerHandle(std::make_shared<MultiplyLayer>(std::move(config)));
}

LayerHandle Average(AverageConfig config) {
  return LayerHandle(std::make_shared<AverageLayer>(std::move(config)));
}

LayerHandle Maximum(MaximumConfig config) {
  return LayerHandle(std::make_shared<MaximumLayer>(std::move(config)));
}

LayerHandle Minimum(MinimumConfig config) {
  return LayerHandle(std::make_shared<MinimumLayer>(std::move(config)));
}

LayerHandle Concatenate(ConcatenateConfig config) {
  return LayerHandle(std::make_shared<ConcatenateLayer>(std::move(config)));
}

LayerClass Add_layer_class(std::string_view summary) {
  return layer_class<AddLayer>(summary);
}

LayerClass Subtract_layer_class(std::string_view summary) {
  return layer_class<SubtractLayer>(summary);
}

LayerClass Multiply_layer_class(std::string_view summary) {
  return layer_class<MultiplyLayer>(summary);
}

LayerClass Average_layer_class(std::string_view summary) {
  return layer_class<AverageLayer>(summary);
}

LayerClass Maximum_layer_class(std::string_view summary) {
  return layer_class<MaximumLayer>(summary);
}

LayerClass Minimum_layer_class(std::string_view summary) {
  return layer_class<MinimumLayer>(summary);
}

LayerClass Concatenate_layer_class(std::string_view summary) {
  return layer_class<ConcatenateLayer>(summary);
}

}  // namespace lockstep
