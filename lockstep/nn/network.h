// A graph of layers with named inputs and outputs; itself a layer. Functional and Sequential.
#pragma once

#include <unordered_map>

#include "lockstep/nn/layer.h"
#include "lockstep/nn/layers/input.h"

namespace lockstep {

class Network;
using NetworkPtr = std::shared_ptr<Network>;

/// How Keras holds a model's inputs or outputs: one tensor, a list, or a dict. The tensors
/// themselves are in Keras's flat order, a dict's by key.
struct TensorStructure {
  enum class Kind { kSingle, kList, kDict };
  Kind kind = Kind::kSingle;
  std::vector<std::string> keys{};  // of a dict, in the order in which they were given
};

class Network final : public Layer {
 public:
  enum class Kind { kFunctional, kSequential };

  /// Everything between inputs and outputs. Layers without a name get one in Keras's way (dense,
  /// dense_1), in the order in which the graph is walked; variables get paths ("dense/kernel",
  /// "inner/dense/kernel"). Without a name the network is called "functional".
  /// Throws InvalidArgument for inputs that do not come from Input(), an output that depends on an
  /// input that is not given, and two layers of one name.
  static NetworkPtr functional(std::vector<Tensor> inputs, std::vector<Tensor> outputs,
                               std::string name = "");
  /// A chain. The first may be an Input's layer (`Input({4}).producer->layer`); without one the
  /// input comes from `input`, from the first layer where that is a network, or from the first
  /// call. Without a name it is called "sequential". Throws as `functional`.
  static NetworkPtr sequential(std::vector<LayerPtr> layers,
                               std::optional<TensorSpec> input = std::nullopt,
                               std::string name = "");

  std::string_view class_name() const override;
  Json config() const override;
  Kind kind() const { return kind_; }
  std::optional<int> input_count() const override;

  /// Writes all layers' nodes. Inputs are cast to the dtypes of `inputs()`. Throws InvalidArgument
  /// naming the input whose shape differs.
  std::vector<Value> call(CallContext& context, const std::vector<Value>& inputs) override;
  std::vector<TensorSpec> output_specs(const std::vector<TensorSpec>& inputs) override;
  /// As Keras lists them: Functional with InputLayers, by depth; Sequential without.
  std::vector<LayerPtr> layers() const override { return layers_; }
  void set_trainable(bool trainable) override;

  /// Empty for a Sequential that was not built yet.
  const std::vector<Tensor>& inputs() const { return inputs_; }
  const std::vector<Tensor>& outputs() const { return outputs_; }
  const TensorStructure& input_structure() const { return input_structure_; }
  const TensorStructure& output_structure() const { return output_structure_; }
  /// Names by which data is given: of the input layers, and of the layers that make the outputs
  /// (made unique by _1, _2 as Keras does when one layer makes several).
  std::vector<std::string> input_names() const;
  std::vector<std::string> output_names() const;
  /// Calls of layers other than InputLayers, in the order in which they are executed.
  const std::vector<std::shared_ptr<LayerCall>>& calls() const { return calls_; }
  /// Layers as the saved configuration lists them: a Sequential's InputLayer too, once it has one.
  std::vector<LayerPtr> saved_layers() const;
  /// Where a call stands in the saved configuration: the layer's index among all, InputLayers
  /// included, and the call's among the layer's calls in this network.
  int layer_index(const Layer& layer) const { return layer_indices_.at(&layer); }
  int node_index(const LayerCall& call) const { return node_indices_.at(&call); }

  /// Of `all_variables`, in this network: a variable's own `path` is that of the outermost one.
  std::vector<std::string> variable_paths() const;

  /// Layer by name; throws NotFound with the closest name.
  LayerPtr get_layer(std::string_view name) const;

  /// Fills every variable that has no value yet, from its initializer: keyed by
  /// (seed, RandomPurpose::kInit, variable path).
  void initialize(uint64_t seed);

  /// Keras's table: layer (type), output shape, parameters, and for branched models what each layer
  /// is connected to; totals. `width` in columns.
  std::string summary(int width = 79) const;
  int64_t parameter_count() const;

 private:
  friend class NetworkReader;

  Network() = default;
  std::optional<Json> unusual_config() const override { return config(); }
  void build_variables(const std::vector<TensorSpec>& inputs) override;
  void set_name_or(std::string name, std::string_view otherwise);
  void set_graph(std::vector<Tensor> inputs, std::vector<Tensor> outputs);
  void check_inputs(const std::vector<TensorSpec>& inputs) const;
  static void name_layers(const std::vector<LayerPtr>& layers);

  Kind kind_ = Kind::kFunctional;
  bool has_provisional_name_ = false;  // an enclosing network may give another
  std::vector<Tensor> inputs_, outputs_;
  TensorStructure input_structure_, output_structure_;
  std::vector<LayerPtr> layers_;
  std::vector<std::shared_ptr<LayerCall>> calls_;
  std::unordered_map<const Layer*, int> layer_indices_;
  std::unordered_map<const LayerCall*, int> node_indices_;
};

/// Reads {"class_name": "Functional" | "Sequential", "config": ...} of Keras 3 (and Keras 2's
/// spellings where they differ). Throws Unsupported naming the class for what Lockstep lacks,
/// InvalidArgument for a configuration that does not hold together.
NetworkPtr network_from_config(const Json& object);

/// The serialised object as Keras 3 writes it: module, class_name, config, registered_name,
/// build_config.
Json network_to_config(const Network& network);

}  // namespace lockstep
