#include "lockstep/nn/layer.h"

#include <algorithm>
#include <unordered_map>
#include <unordered_set>

#include "lockstep/nn/layer_fields.h"

namespace lockstep {
namespace {

// Rows of scratch graphs. Any number would do: a layer never looks at how many there are.
constexpr int64_t kScratchRows = 2;

/// Enough to write a layer's nodes when only their shapes are wanted.
class ScratchContext final : public CallContext {
 public:
  explicit ScratchContext(Builder& builder) : CallContext(builder, /*training=*/false) {}
  Value weight(const VariablePtr& variable) override {
    Value& value = weights_[variable.get()];
    if (!value.valid())
      value = builder.parameter({variable->dtype, variable->shape}, variable->path);
    return value;
  }
  // Nothing below is called in inference.
  Random random(std::optional<int64_t>) override { check_failed("training", __FILE__, __LINE__); }
  void add_activity_penalty(Value) override {}
  void update_moving_average(const VariablePtr&, Value, double, int64_t) override {}
  Value global_rows() override { check_failed("training", __FILE__, __LINE__); }

 private:
  std::unordered_map<const Variable*, Value> weights_;
};

/// Variables of layers that `wants`, each once; all, or those that training changes.
void collect(const Layer& layer, const std::function<bool(const Layer&)>& wants,
             bool only_trainable, std::vector<VariablePtr>& result,
             std::unordered_set<const Variable*>& seen) {
  if (!wants(layer)) return;
  for (const VariablePtr& variable : layer.variables())
    if ((!only_trainable || variable->is_trainable) && seen.insert(variable.get()).second)
      result.push_back(variable);
  for (const LayerPtr& child : layer.layers()) collect(*child, wants, only_trainable, result, seen);
}

void check_input_count(const Layer& layer, size_t count, bool as_list) {
  const std::optional<int> wanted = layer.input_count();
  if (count == 0) invalid_argument(layer.label(), "it must be called on a tensor: none came");
  if (wanted && count != static_cast<size_t>(*wanted))
    invalid_argument(layer.label(), "it must be called on {} tensor{}: {} came", *wanted,
                     *wanted == 1 ? "" : "s", count);
  if (!wanted && !as_list)
    invalid_argument(layer.label(), "it must be called on a list of tensors: one tensor came");
}

}  // namespace

std::string Layer::label() const {
  return layer_label(class_name(), name_);
}

void Layer::build(const std::vector<TensorSpec>& inputs) {
  if (built_) return;
  build_variables(inputs);
  // Trainable ones come first, whatever order they were made in.
  std::stable_partition(variables_.begin(), variables_.end(),
                        [](const VariablePtr& variable) { return variable->is_trainable; });
  build_inputs_ = inputs;
  built_ = true;
}

std::vector<TensorSpec> Layer::output_specs(const std::vector<TensorSpec>& inputs) {
  Graph graph;
  Builder builder(graph);
  builder.set_context(name_);
  ScratchContext context(builder);
  std::vector<Value> values;
  for (const TensorSpec& input : inputs) {
    Shape shape = input.shape;
    if (shape.rank() == 0)
      invalid_argument(label(), "inputs must have a batch axis: a scalar came");
    shape[0] = kScratchRows;
    if (std::any_of(shape.begin(), shape.end(), [](int64_t extent) { return extent < 0; }))
      unsupported(label(), "unsupported input with a free axis besides the batch: {}",
                  input.shape.str());
    values.push_back(builder.parameter({input.dtype, shape}, "input"));
  }
  std::vector<TensorSpec> outputs;
  for (const Value& value : call(context, values)) {
    LOCKSTEP_CHECK(value.shape().rank() > 0 && value.shape()[0] == kScratchRows);
    outputs.push_back({value.shape(), value.dtype()});
    outputs.back().shape[0] = -1;
  }
  return outputs;
}

bool CallContext::trains(const Layer& layer) const {
  return layer.trainable();
}

std::vector<VariablePtr> Layer::all_variables() const {
  std::vector<VariablePtr> result;
  std::unordered_set<const Variable*> seen;
  collect(
      *this, [](const Layer&) { return true; }, false, result, seen);
  return result;
}

std::vector<VariablePtr> Layer::trainable_variables() const {
  return trainable_variables([](const Layer& layer) { return layer.trainable(); });
}

std::vector<VariablePtr> Layer::trainable_variables(
    const std::function<bool(const Layer&)>& trains) const {
  std::vector<VariablePtr> result;
  std::unordered_set<const Variable*> seen;
  collect(*this, trains, true, result, seen);
  return result;
}

VariablePtr Layer::add_variable(std::string name, Shape shape,
                                std::shared_ptr<const Initializer> initializer,
                                std::shared_ptr<const Regularizer> regularizer,
                                std::shared_ptr<const Constraint> constraint, bool is_trainable) {
  auto variable = std::make_shared<Variable>();
  variable->path = name_.empty() ? name : name_ + "/" + name;
  variable->name = std::move(name);
  variable->shape = std::move(shape);
  variable->is_trainable = is_trainable;
  variable->initializer = std::move(initializer);
  variable->regularizer = std::move(regularizer);
  variable->constraint = std::move(constraint);
  variables_.push_back(variable);
  return variable;
}

std::vector<Tensor> call_layer(const LayerPtr& layer, std::vector<Tensor> inputs, bool as_list) {
  check_input_count(*layer, inputs.size(), as_list);
  std::vector<TensorSpec> specs;
  for (const Tensor& input : inputs) {
    if (!input.producer)
      invalid_argument(layer->label(),
                       "inputs must come from Input() or a layer: an empty tensor came");
    specs.push_back(input.spec);
  }
  layer->build(specs);
  auto node = std::make_shared<LayerCall>();
  node->layer = layer;
  node->outputs = layer->output_specs(specs);
  node->inputs = std::move(inputs);
  node->inputs_are_list = as_list;
  node->node_index = layer->call_count_++;
  std::vector<Tensor> outputs;
  for (size_t i = 0; i < node->outputs.size(); ++i)
    outputs.push_back({node, static_cast<int>(i), node->outputs[i]});
  return outputs;
}

Json layer_config(const Layer& layer) {
  if (std::optional<Json> unusual = layer.unusual_config()) return *std::move(unusual);
  Json json;
  json["name"] = layer.name();
  json["trainable"] = layer.trainable();
  json["dtype"] = float32_policy();
  // ActivityRegularization says l1 and l2 in its own fields.
  if (layer.activity_regularizer() && layer.class_name() != "ActivityRegularization")
    json["activity_regularizer"] = regularizer_to_config(layer.activity_regularizer());
  const Json config = layer.config();  // lives through the loop, as items() only refers to it
  for (const auto& [key, value] : config.items()) json[key] = value;
  return json;
}

std::string snake_case(std::string_view class_name) {
  const auto is_upper = [](char c) { return c >= 'A' && c <= 'Z'; };
  const auto is_lower = [](char c) { return c >= 'a' && c <= 'z'; };
  std::string result;
  for (size_t i = 0; i < class_name.size(); ++i) {
    const char c = class_name[i];
    const bool before_lower = i + 1 < class_name.size() && is_lower(class_name[i + 1]);
    if (i > 0 && is_upper(c) && (before_lower || is_lower(class_name[i - 1]))) result += '_';
    result += is_upper(c) ? static_cast<char>(c - 'A' + 'a') : c;
  }
  return result;
}

}  // namespace lockstep
