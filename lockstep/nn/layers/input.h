// Where a model's data comes in: Input and its layer.
#pragma once

#include <memory>
#include <string>

#include "lockstep/nn/layer.h"

namespace lockstep {

/// `dtype`: float32 or an integer or bool type; layers that compute cast integers to float32.
struct InputOptions {
  std::string name = "";
  DType dtype = DType::kF32;
};

/// An input of a model. `shape` is a row's, without the batch axis. Throws InvalidArgument for an
/// extent below 1, Unsupported for another dtype.
Tensor Input(Shape shape, InputOptions options = {});

class InputLayer final : public Layer {
 public:
  /// `batch_shape` as Keras writes it, with -1 for null; a fixed batch is only written back.
  InputLayer(Shape batch_shape, DType dtype, std::string name);

  std::string_view class_name() const override { return "InputLayer"; }
  Json config() const override;
  std::optional<int> input_count() const override { return 0; }
  bool has_build_config() const override { return false; }
  std::vector<Value> call(CallContext& context, const std::vector<Value>& inputs) override;

  /// What flows in, with a free batch axis.
  TensorSpec spec() const;
  /// The layer's one tensor.
  Tensor tensor();

 private:
  std::optional<Json> unusual_config() const override { return config(); }

  Shape batch_shape_;
  DType dtype_;
  std::weak_ptr<LayerCall> node_;  // kept by the tensors
};

}  // namespace lockstep
