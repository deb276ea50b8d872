#include "lockstep/nn/network.h"

#include <algorithm>
#include <set>
#include <unordered_set>

#include "lockstep/nn/initializer.h"
#include "lockstep/nn/network_order.h"
#include "lockstep/nn/regularizer.h"

namespace lockstep {
namespace {

TensorStructure usual_structure(size_t count) {
  return {count == 1 ? TensorStructure::Kind::kSingle : TensorStructure::Kind::kList};
}

void check_unique_names(const std::vector<LayerPtr>& layers) {
  std::set<std::string_view> names;
  for (const LayerPtr& layer : layers)
    if (!names.insert(layer->name()).second)
      invalid_argument("model",
                       "layers must have different names: two are called \"{}\". Give one "
                       "another name",
                       layer->name());
}

/// Calls body(variable, path) for each variable: "dense/kernel", "inner/dense/kernel". A layer met
/// twice has the path of its first place.
template <class Body>
void for_each_path(const std::vector<LayerPtr>& layers, const std::string& prefix,
                   std::unordered_set<const Layer*>& seen, const Body& body) {
  for (const LayerPtr& layer : layers) {
    if (!seen.insert(layer.get()).second) continue;
    const std::string path = prefix + layer->name() + "/";
    for (const VariablePtr& variable : layer->variables()) body(*variable, path + variable->name);
    for_each_path(layer->layers(), path, seen, body);
  }
}

void set_paths(const std::vector<LayerPtr>& layers) {
  std::unordered_set<const Layer*> seen;
  for_each_path(layers, "", seen,
                [](Variable& variable, const std::string& path) { variable.path = path; });
}

/// The site of a call inside a network that is itself called at `outer`: a 32-bit mix of both
/// (MurmurHash3's finaliser), so that sub-networks called twice, or alike, draw other numbers.
uint32_t nested_site(uint32_t outer, uint32_t inner) {
  uint32_t h = outer * 0x9E3779B1u + inner;
  h = (h ^ (h >> 16)) * 0x85EBCA6Bu;
  h = (h ^ (h >> 13)) * 0xC2B2AE35u;
  return h ^ (h >> 16);
}

void add_activity_penalty(CallContext& context, const Layer& layer, Value y) {
  Dims axes(y.shape().rank());
  for (size_t i = 0; i < axes.size(); ++i) axes[i] = static_cast<int64_t>(i);
  const Value penalty = layer.activity_regularizer()->elementwise(context.builder, y);
  context.add_activity_penalty(context.builder.reduce_sum(penalty, axes));
}

std::shared_ptr<InputLayer> as_input_layer(const LayerPtr& layer) {
  return std::dynamic_pointer_cast<InputLayer>(layer);
}

}  // namespace

void Network::name_layers(const std::vector<LayerPtr>& layers) {
  const auto needs_name = [](const LayerPtr& layer) {
    const auto* network = dynamic_cast<const Network*>(layer.get());
    return layer->name().empty() || (network != nullptr && network->has_provisional_name_);
  };
  std::set<std::string> taken;
  for (const LayerPtr& layer : layers)
    if (!needs_name(layer)) taken.insert(layer->name());
  for (const LayerPtr& layer : layers) {
    if (!needs_name(layer)) continue;
    const std::string base = snake_case(layer->class_name());
    std::string name = base;
    for (int i = 1; !taken.insert(name).second; ++i) name = fmt::format("{}_{}", base, i);
    layer->set_name(name);
    if (auto* network = dynamic_cast<Network*>(layer.get())) network->has_provisional_name_ = false;
  }
  check_unique_names(layers);
}

NetworkPtr Network::functional(std::vector<Tensor> inputs, std::vector<Tensor> outputs,
                               std::string name) {
  NetworkPtr network(new Network);
  network->set_name_or(std::move(name), "functional");
  if (outputs.empty()) invalid_argument(network->label(), "a model must have outputs");
  network->set_graph(std::move(inputs), std::move(outputs));
  network->built_ = true;
  return network;
}

NetworkPtr Network::sequential(std::vector<LayerPtr> layers, std::optional<TensorSpec> input,
                               std::string name) {
  NetworkPtr network(new Network);
  network->kind_ = Kind::kSequential;
  network->set_name_or(std::move(name), "sequential");
  if (layers.empty()) invalid_argument(network->label(), "a model must have layers");
  if (const auto first = as_input_layer(layers.front())) {
    input = first->spec();
    network->inputs_ = {first->tensor()};
    layers.erase(layers.begin());
  } else if (const auto* inner = dynamic_cast<const Network*>(layers.front().get());
             inner != nullptr && !input && inner->inputs().size() == 1) {
    input = inner->inputs()[0].spec;
  }
  network->layers_ = std::move(layers);
  if (input) network->build({*input});
  return network;
}

void Network::set_name_or(std::string name, std::string_view otherwise) {
  has_provisional_name_ = name.empty();
  name_ = name.empty() ? std::string(otherwise) : std::move(name);
}

void Network::build_variables(const std::vector<TensorSpec>& inputs) {
  if (inputs_.empty())
    inputs_ = {Input(inputs[0].shape.without_rows(), {.dtype = inputs[0].dtype})};
  Tensor x = inputs_[0];
  for (const LayerPtr& layer : layers_) {
    const std::vector<Tensor> results = call_layer(layer, {x}, /*as_list=*/false);
    if (results.size() != 1)
      invalid_argument(label(), "layers of a Sequential must have one result: {} has {}",
                       layer->label(), results.size());
    x = results[0];
  }
  set_graph(inputs_, {x});
}

void Network::set_graph(std::vector<Tensor> inputs, std::vector<Tensor> outputs) {
  std::set<const Layer*> input_layers;
  for (const Tensor& input : inputs)
    if (!input.producer || !as_input_layer(input.producer->layer) ||
        !input_layers.insert(input.producer->layer.get()).second)
      invalid_argument(label(), "inputs must come from Input(), each once: {} came",
                       input.producer ? input.producer->layer->label() : "an empty tensor");
  for (const Tensor& output : outputs)
    if (!output.producer) invalid_argument(label(), "outputs must be tensors: an empty one came");
  const NetworkOrder order = network_order(inputs, outputs);
  name_layers(order.walked);
  set_paths(order.layers);
  if (kind_ == Kind::kFunctional) layers_ = order.layers;
  calls_ = order.calls;
  std::vector<std::shared_ptr<LayerCall>> by_age = order.calls;
  std::sort(by_age.begin(), by_age.end(),
            [](const auto& a, const auto& b) { return a->node_index < b->node_index; });
  std::unordered_map<const Layer*, int> counts;
  for (const auto& call : by_age) node_indices_[call.get()] = counts[call->layer.get()]++;
  for (const Tensor& input : inputs) node_indices_[input.producer.get()] = 0;
  input_structure_ = usual_structure(inputs.size());
  output_structure_ = usual_structure(outputs.size());
  inputs_ = std::move(inputs);
  outputs_ = std::move(outputs);
  int index = 0;
  for (const LayerPtr& layer : saved_layers()) layer_indices_.emplace(layer.get(), index++);
}

std::vector<LayerPtr> Network::saved_layers() const {
  std::vector<LayerPtr> layers = layers_;
  if (kind_ == Kind::kSequential && !inputs_.empty())
    layers.insert(layers.begin(), inputs_[0].producer->layer);
  return layers;
}

std::string_view Network::class_name() const {
  return kind_ == Kind::kFunctional ? "Functional" : "Sequential";
}

std::optional<int> Network::input_count() const {
  return inputs_.empty() ? 1 : static_cast<int>(inputs_.size());
}

void Network::check_inputs(const std::vector<TensorSpec>& inputs) const {
  if (inputs_.empty())
    invalid_argument(label(),
                     "it must have an input shape before it is used. Begin it with an Input");
  if (inputs.size() != inputs_.size())
    invalid_argument(label(), "it must be called on {} tensors: {} came", inputs_.size(),
                     inputs.size());
  for (size_t i = 0; i < inputs.size(); ++i) {
    const Shape &want = inputs_[i].spec.shape, &got = inputs[i].shape;
    if (got.rank() != want.rank() || got.without_rows() != want.without_rows())
      invalid_argument(label(), "input \"{}\" must be {}: {} came",
                       inputs_[i].producer->layer->name(), want.str(), got.str());
  }
}

std::vector<Value> Network::call(CallContext& context, const std::vector<Value>& inputs) {
  std::vector<TensorSpec> specs;
  for (const Value& input : inputs) specs.push_back({input.shape(), input.dtype()});
  check_inputs(specs);
  std::unordered_map<const LayerCall*, std::vector<Value>> values;
  for (size_t i = 0; i < inputs.size(); ++i)
    values[inputs_[i].producer.get()] = {context.builder.convert(inputs[i], inputs_[i].spec.dtype)};
  const auto value_of = [&](const Tensor& tensor) {
    return values.at(tensor.producer.get()).at(static_cast<size_t>(tensor.index));
  };

  const uint32_t outer_site = context.site;
  const std::string outer_context = context.builder.set_context("");
  const std::string prefix = outer_context.empty() ? "" : outer_context + "/";
  for (const auto& node : calls_) {
    Layer& layer = *node->layer;
    const auto own_site =
        static_cast<uint32_t>(layer_index(layer)) << 16 | static_cast<uint32_t>(node_index(*node));
    context.site = outer_site == 0 ? own_site : nested_site(outer_site, own_site);
    context.builder.set_context(prefix + layer.name());
    std::vector<Value> arguments;
    for (const Tensor& input : node->inputs) arguments.push_back(value_of(input));
    std::vector<Value> results = layer.call(context, arguments);
    if (layer.activity_regularizer())
      for (const Value& result : results) add_activity_penalty(context, layer, result);
    values[node.get()] = std::move(results);
  }
  context.site = outer_site;
  context.builder.set_context(outer_context);

  std::vector<Value> results;
  for (const Tensor& output : outputs_) results.push_back(value_of(output));
  return results;
}

std::vector<TensorSpec> Network::output_specs(const std::vector<TensorSpec>& inputs) {
  check_inputs(inputs);
  std::vector<TensorSpec> specs;
  for (const Tensor& output : outputs_) specs.push_back(output.spec);
  return specs;
}

void Network::set_trainable(bool trainable) {
  trainable_ = trainable;
  for (const LayerPtr& layer : layers_) layer->set_trainable(trainable);
}

std::vector<std::string> Network::input_names() const {
  std::vector<std::string> names;
  for (const Tensor& input : inputs_) names.push_back(input.producer->layer->name());
  return names;
}

std::vector<std::string> Network::output_names() const {
  std::vector<std::string> names;
  std::set<std::string> taken;
  for (const Tensor& output : outputs_) {
    const std::string& base = output.producer->layer->name();
    std::string name = base;
    for (int i = 1; !taken.insert(name).second; ++i) name = fmt::format("{}_{}", base, i);
    names.push_back(name);
  }
  return names;
}

LayerPtr Network::get_layer(std::string_view name) const {
  std::vector<std::string> names;
  for (const LayerPtr& layer : layers_) {
    if (layer->name() == name) return layer;
    names.push_back(layer->name());
  }
  const std::string closest = closest_name(name, names);
  fail(ErrorCode::kNotFound, label(), "no layer is called \"{}\".{}", name,
       closest.empty() ? "" : fmt::format(" Did you mean \"{}\"?", closest));
}

void Network::initialize(uint64_t seed) {
  for (const VariablePtr& variable : all_variables()) {
    if (variable->value.type() == TensorType{variable->dtype, variable->shape} &&
        variable->value.size_bytes() > 0)
      continue;
    if (!variable->initializer)
      invalid_argument(variable->path, "the variable must have an initializer or be loaded");
    variable->value =
        variable->initializer->values(variable->shape, variable->dtype, seed, variable->path);
  }
}

std::vector<std::string> Network::variable_paths() const {
  std::vector<std::string> paths;
  std::unordered_set<const Layer*> seen;
  for_each_path(layers_, "", seen,
                [&](const Variable&, const std::string& path) { paths.push_back(path); });
  return paths;
}

int64_t Network::parameter_count() const {
  int64_t count = 0;
  for (const VariablePtr& variable : all_variables()) count += variable->size();
  return count;
}

}  // namespace lockstep
