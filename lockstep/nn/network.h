// A graph of layers with named inputs and outputs; itself a layer. Functional and Sequential.
#pragma once

#include "lockstep/nn/layer.h"

namespace lockstep {

/// An input of a model. `shape` without the batch axis.
struct InputOptions {
  std::string name;
  DType dtype = DType::kF32;
};
Tensor Input(Shape shape, InputOptions options = {});

class Network : public Layer {
 public:
  enum class Kind { kFunctional, kSequential };

  /// Everything between inputs and outputs; names layers uniquely in Keras's way (dense, dense_1).
  static std::shared_ptr<Network> functional(std::vector<Tensor> inputs, std::vector<Tensor> outputs,
                                             std::string name = "");
  /// A chain. The first may be an Input tensor's layer; without one the input shape comes from `input`.
  static std::shared_ptr<Network> sequential(std::vector<LayerPtr> layers, std::optional<TensorSpec> input,
                                             std::string name = "");

  std::string_view class_name() const override;
  Json config() const override;
  Kind kind() const { return kind_; }

  std::vector<Value> call(CallContext& context, const std::vector<Value>& inputs) override;
  std::vector<LayerPtr> layers() const override { return layers_; }
  void set_trainable(bool trainable) override;

  const std::vector<Tensor>& inputs() const { return inputs_; }
  const std::vector<Tensor>& outputs() const { return outputs_; }
  /// Names by which data is given: of the input layers, and of the layers that make the outputs
  /// (made unique by _1, _2 as Keras does when one layer makes several).
  std::vector<std::string> input_names() const;
  std::vector<std::string> output_names() const;
  /// Calls in an order that can be executed; also the order of node indices.
  const std::vector<std::shared_ptr<LayerCall>>& calls() const { return calls_; }

  /// Layer by name; throws NotFound with the closest name.
  LayerPtr get_layer(std::string_view name) const;

  /// Fills every variable that has no value yet, from its initializer: keyed by
  /// (seed, RandomPurpose::kInit, variable path).
  void initialize(uint64_t seed);

  /// Keras's table: layer (type), output shape, parameters; totals. `width` in columns.
  std::string summary(int width = 79) const;
  int64_t parameter_count() const;

 private:
  friend struct NetworkReader;
  Kind kind_ = Kind::kFunctional;
  std::vector<Tensor> inputs_, outputs_;
  std::vector<LayerPtr> layers_;  // as Keras lists them: Functional with InputLayers, by depth
  std::vector<std::shared_ptr<LayerCall>> calls_;
};

using NetworkPtr = std::shared_ptr<Network>;

/// Reads {"class_name": "Functional" | "Sequential", "config": ...} of Keras 3 (and Keras 2's
/// spellings where they differ). Throws Unsupported naming the class for what Lockstep lacks,
/// InvalidArgument for a configuration that does not hold together.
NetworkPtr network_from_config(const Json& object);

/// The serialised object as Keras 3 writes it: module, class_name, config, registered_name, build_config.
Json network_to_config(const Network& network);

}  // namespace lockstep
