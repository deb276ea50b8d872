// A layer: configuration, variables made by `build`, and `call`, which writes its arithmetic as
// graph nodes.
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "lockstep/ir/builder.h"
#include "lockstep/nn/config.h"
#include "lockstep/nn/variable.h"

namespace lockstep {

class Layer;
struct Tensor;
using LayerPtr = std::shared_ptr<Layer>;

/// What a layer may ask for while it writes nodes. One per graph; the trainer implements the hooks.
class CallContext {
 public:
  CallContext(Builder& builder, bool training) : builder(builder), training(training) {}
  virtual ~CallContext() = default;

  Builder& builder;
  const bool training;
  /// Call site of the layer being called: layer index * 2^16 + node index in the saved
  /// configuration of the outermost network; sub-networks mix their own in. 0 outside a network.
  uint32_t site = 0;

  /// The graph's value of a variable (a kWeight parameter).
  virtual Value weight(const VariablePtr& variable) = 0;

  /// Operands of the random ops: key u32[2], first row u32[], train step u32[].
  struct Random {
    Value key, first_row, train_step;
  };
  /// `seed`: the layer's own, or none for the run's.
  virtual Random random(std::optional<int64_t> seed) = 0;

  /// Adds an activity penalty: `sum` is f32[], the penalty summed over the tower's rows; the step
  /// divides by the rows of the batch.
  virtual void add_activity_penalty(Value sum) = 0;

  /// After the step: moving = moving * momentum + average * (1 - momentum), where average is the
  /// tree sum of `weighted` over towers divided by the batch's rows * positions_per_row.
  /// `weighted` is the tower's statistic times its rows * positions_per_row.
  virtual void update_moving_average(const VariablePtr& moving, Value weighted, double momentum,
                                     int64_t positions_per_row) = 0;

  /// Whether the layer trains: its own flag, as it was when the model was compiled.
  virtual bool trains(const Layer& layer) const;

  /// Normalise over the global batch although the layer does not say so (--batchnorm global).
  virtual bool force_synchronized_batchnorm() const { return false; }
  /// Rows of the global batch as f32[]: the denominator of statistics over all towers.
  virtual Value global_rows() = 0;
};

/// Shape (axis 0 is the batch: -1) and dtype of a tensor between layers.
struct TensorSpec {
  Shape shape;
  DType dtype = DType::kF32;
  bool operator==(const TensorSpec&) const = default;
};

class Layer : public std::enable_shared_from_this<Layer> {
 public:
  virtual ~Layer() = default;

  virtual std::string_view class_name() const = 0;  // "Dense"
  /// The Keras configuration without name, trainable and dtype, which `layer_config` adds.
  virtual Json config() const = 0;

  /// Empty until the layer is given one, by its configuration or by the first network it is in.
  const std::string& name() const { return name_; }
  void set_name(std::string name) { name_ = std::move(name); }
  /// `Dense "dense_1"`: how messages call it.
  std::string label() const;
  bool trainable() const { return trainable_; }
  /// As in Keras: sets the sub-layers' flags too. Takes effect at the next compile.
  virtual void set_trainable(bool trainable) { trainable_ = trainable; }
  /// Penalty of the layer's results, added by the network it is called in; may be null.
  const std::shared_ptr<const Regularizer>& activity_regularizer() const {
    return activity_regularizer_;
  }

  /// How many tensors a call takes; none: a list of any number, at least one.
  virtual std::optional<int> input_count() const { return 1; }
  /// Creates variables for these input shapes (axis 0 is -1). Done once, by the first call on a
  /// tensor or by reading a file; later ones do nothing. Throws InvalidArgument naming the layer
  /// and the shape.
  void build(const std::vector<TensorSpec>& inputs);
  bool is_built() const { return built_; }
  /// What `build` was given; Keras saves it as build_config.
  const std::vector<TensorSpec>& build_inputs() const { return build_inputs_; }
  /// Keras writes no build_config for layers that are built when they are made.
  virtual bool has_build_config() const { return true; }

  /// Writes the layer's nodes. Inputs are [rows, ...]. Throws InvalidArgument naming the layer and
  /// the shape.
  virtual std::vector<Value> call(CallContext& context, const std::vector<Value>& inputs) = 0;

  /// Result specs for input specs: found by writing `call` into a scratch graph. Throws Unsupported
  /// for an input with a free axis other than the batch.
  virtual std::vector<TensorSpec> output_specs(const std::vector<TensorSpec>& inputs);

  /// Own variables in Keras's saving order: trainable ones, then state, each in creation order.
  const std::vector<VariablePtr>& variables() const { return variables_; }
  /// Sub-layers, for containers and wrappers.
  virtual std::vector<LayerPtr> layers() const { return {}; }
  /// Own and all sub-layers' variables, in that order, each once.
  std::vector<VariablePtr> all_variables() const;
  /// Those an optimizer trains now, in Keras's order: this and every enclosing layer `trainable`,
  /// the variable `is_trainable`.
  std::vector<VariablePtr> trainable_variables() const;
  /// The same with other flags than the layers' own.
  std::vector<VariablePtr> trainable_variables(
      const std::function<bool(const Layer&)>& trains) const;

 protected:
  friend std::vector<Tensor> call_layer(const LayerPtr& layer, std::vector<Tensor> inputs,
                                        bool as_list);
  friend Json layer_config(const Layer& layer);

  /// The whole "config" of a class that does not begin with name, trainable and dtype.
  virtual std::optional<Json> unusual_config() const { return std::nullopt; }
  virtual void build_variables(const std::vector<TensorSpec>& inputs) { (void)inputs; }
  VariablePtr add_variable(std::string name, Shape shape,
                           std::shared_ptr<const Initializer> initializer,
                           std::shared_ptr<const Regularizer> regularizer = nullptr,
                           std::shared_ptr<const Constraint> constraint = nullptr,
                           bool is_trainable = true);

  std::string name_;
  bool trainable_ = true;
  std::shared_ptr<const Regularizer> activity_regularizer_;
  bool built_ = false;
  std::vector<VariablePtr> variables_;

 private:
  std::vector<TensorSpec> build_inputs_;
  int call_count_ = 0;
};

struct LayerCall;

/// A symbolic tensor of the functional API: which call of which layer makes it. Cheap to copy.
struct Tensor {
  std::shared_ptr<LayerCall> producer;
  int index = 0;
  TensorSpec spec;
};

/// One use of a layer: a node of the functional graph.
struct LayerCall {
  LayerPtr layer;
  int node_index = 0;  // how many calls of this layer came before it, in whatever network
  std::vector<Tensor> inputs;
  bool inputs_are_list = false;  // called as layer([a, b]) rather than layer(a)
  Json kwargs = Json::object();  // as saved; `training` and `mask: null` mean nothing here
  std::vector<TensorSpec> outputs;
};

/// Calls a layer on tensors: builds it at its first use. Throws InvalidArgument naming the layer
/// where number or shapes of the inputs do not fit.
std::vector<Tensor> call_layer(const LayerPtr& layer, std::vector<Tensor> inputs, bool as_list);

/// What the layer functions return: `auto y = Dense({.units = 10})(x);`. Shares the layer.
class LayerHandle {
 public:
  explicit LayerHandle(LayerPtr layer) : layer_(std::move(layer)) {}
  Tensor operator()(const Tensor& x) const { return call_layer(layer_, {x}, false).at(0); }
  Tensor operator()(const std::vector<Tensor>& xs) const {
    return call_layer(layer_, xs, true).at(0);
  }
  const LayerPtr& layer() const { return layer_; }
  operator LayerPtr() const { return layer_; }  // NOLINT: lists of layers read as in Keras

 private:
  LayerPtr layer_;
};

/// The full Keras configuration: name, trainable, dtype, then config().
Json layer_config(const Layer& layer);

/// "conv2d", "batch_normalization": Keras's snake case of a class name; names files and layers.
std::string snake_case(std::string_view class_name);

}  // namespace lockstep
