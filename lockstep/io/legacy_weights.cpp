#include "lockstep/io/legacy_weights.h"

#include <algorithm>
#include <map>
#include <numeric>
#include <set>
#include <unordered_map>

#include "lockstep/io/legacy_names.h"

namespace lockstep {
namespace {

constexpr std::string_view kLayerNames = "layer_names", kWeightNames = "weight_names";

std::string joined(const std::string& path, const std::string& name) {
  return path.empty() ? name : path + "/" + name;
}

struct SavedWeight {
  std::string name, path;
  Shape shape;
};

/// A layer of the file that has weights.
struct SavedGroup {
  std::string name;
  std::vector<SavedWeight> weights;
};

/// A layer of the network that has variables, its sub-layers' included.
struct Place {
  const Layer* layer;
  std::vector<ScopedVariable> variables;
};

std::vector<std::string> names_in(const Hdf5Reader& h5, const std::string& group,
                                  std::string_view attribute, const std::string& where) {
  auto names = h5.text_list_attribute(group, attribute);
  if (!names)
    fail(ErrorCode::kDataLoss, where, "group \"/{}\" must have a list of texts \"{}\"", group,
         attribute);
  std::set<std::string> seen;
  for (const std::string& name : *names)
    if (!seen.insert(name).second)
      fail(ErrorCode::kDataLoss, where, "names in \"{}\" of group \"/{}\" must differ: \"{}\"",
           attribute, group, name);
  return *std::move(names);
}

/// Names and shapes; values are read when it is known whose they are.
SavedGroup read_group(const Hdf5Reader& h5, const std::string& path, const std::string& name,
                      const std::string& where) {
  if (!h5.has_group(path))
    fail(ErrorCode::kDataLoss, where, "layer \"{}\" is listed: there is no group \"/{}\"", name,
         path);
  SavedGroup group{name, {}};
  for (const std::string& weight : names_in(h5, path, kWeightNames, where)) {
    const std::string dataset = joined(path, weight);
    if (!h5.has_dataset(dataset))
      fail(ErrorCode::kDataLoss, where, "weight \"{}\" is listed: there is no dataset \"/{}\"",
           weight, dataset);
    group.weights.push_back({weight, dataset, h5.shape(dataset)});
  }
  return group;
}

std::vector<SavedGroup> read_groups(const Hdf5Reader& h5, const std::string& root,
                                    const std::string& where) {
  std::vector<SavedGroup> groups;
  for (const std::string& name : names_in(h5, root, kLayerNames, where)) {
    SavedGroup group = read_group(h5, joined(root, name), name, where);
    if (!group.weights.empty()) groups.push_back(std::move(group));
  }
  const std::string top = joined(root, "top_level_model_weights");
  if (h5.has_group(top) && !names_in(h5, top, kWeightNames, where).empty())
    unsupported(where, "unsupported weights of the model itself, in no layer: \"/{}\"", top);
  return groups;
}

std::vector<Place> places_of(const std::vector<LayerPtr>& layers) {
  std::vector<Place> places;
  for (const LayerPtr& layer : layers)
    if (Place place{layer.get(), scoped_variables(*layer)}; !place.variables.empty())
      places.push_back(std::move(place));
  return places;
}

template <class Items, class Name>
std::string name_list(const Items& items, Name&& name) {
  constexpr size_t kMost = 8;
  std::string text;
  for (size_t i = 0; i < std::min(items.size(), kMost); ++i)
    text += fmt::format("{}\"{}\"", i == 0 ? "" : ", ", name(items[i]));
  return items.size() > kMost ? text + ", ..." : text;
}

/// Which group belongs to which place: by name where all names agree, else one after the other, as
/// Keras does.
std::vector<const SavedGroup*> pair_groups(const std::vector<SavedGroup>& groups,
                                           const std::vector<Place>& places,
                                           const std::string& where) {
  if (groups.size() != places.size())
    invalid_argument(
        where, "the model has {} layers with weights ({}): the file has {} ({})", places.size(),
        name_list(places, [](const Place& place) { return place.layer->name(); }), groups.size(),
        name_list(groups, [](const SavedGroup& group) { return group.name; }));
  std::map<std::string, const SavedGroup*> by_name;
  for (const SavedGroup& group : groups) by_name[group.name] = &group;
  std::vector<const SavedGroup*> pairs;
  for (const Place& place : places)
    if (const auto it = by_name.find(place.layer->name()); it != by_name.end())
      pairs.push_back(it->second);
  if (pairs.size() == places.size()) return pairs;
  pairs.clear();
  for (size_t i = 0; i < places.size(); ++i) {
    const Layer& layer = *places[i].layer;
    const auto it = by_name.find(layer.name());
    const bool is_elsewhere = it != by_name.end() && it->second != &groups[i];
    if (is_elsewhere && !is_automatic_name(layer.name(), layer.class_name()))
      invalid_argument(where,
                       "layers must all have the file's names, or stand in its order: \"{}\" is "
                       "there, at another place, and other names differ ({})",
                       layer.name(),
                       name_list(groups, [](const SavedGroup& group) { return group.name; }));
    pairs.push_back(&groups[i]);
  }
  return pairs;
}

using Order = std::vector<size_t>;  // for each saved weight the index of its variable

/// The orders in which Keras writes a layer's weights: trainable ones first, the flags being now
/// those of the network, now all set, now none.
std::vector<Order> possible_orders(const Place& place) {
  const auto now = place.layer->trainable_variables();
  const std::set<VariablePtr> trainable(now.begin(), now.end());
  std::vector<Order> orders;
  const auto add = [&](auto&& comes_first) {
    Order order(place.variables.size());
    std::iota(order.begin(), order.end(), size_t{0});
    std::stable_partition(order.begin(), order.end(),
                          [&](size_t i) { return comes_first(place.variables[i].variable); });
    if (std::find(orders.begin(), orders.end(), order) == orders.end()) orders.push_back(order);
  };
  add([&](const VariablePtr& variable) { return trainable.contains(variable); });
  add([&](const VariablePtr& variable) { return variable->is_trainable; });
  add([&](const VariablePtr&) { return false; });
  return orders;
}

/// Whether shapes, kinds of variables and layers agree: weights of one scope are of one layer.
bool is_consistent(const Order& order, const SavedGroup& group,
                   const std::vector<WeightName>& names, const Place& place, bool has_kinds) {
  std::map<std::vector<std::string>, std::vector<std::string>> layers, scopes;
  for (size_t i = 0; i < order.size(); ++i) {
    const ScopedVariable& v = place.variables[order[i]];
    if (group.weights[i].shape != v.variable->shape) return false;
    if (!has_kinds) continue;
    if (names[i].variable != v.variable->name) return false;
    if (names[i].scope.empty()) continue;
    if (layers.emplace(names[i].scope, v.scope).first->second != v.scope) return false;
    if (scopes.emplace(v.scope, names[i].scope).first->second != names[i].scope) return false;
  }
  return true;
}

Order match_by_position(const SavedGroup& group, const std::vector<WeightName>& names,
                        const Place& place, const std::string& where) {
  std::multiset<std::string> kinds, our_kinds;
  for (const WeightName& name : names) kinds.insert(name.variable);
  for (const ScopedVariable& v : place.variables) our_kinds.insert(v.variable->name);
  const bool has_kinds = kinds == our_kinds;
  std::vector<Order> fitting;
  const std::vector<Order> orders = possible_orders(place);
  for (const Order& order : orders)
    if (is_consistent(order, group, names, place, has_kinds)) fitting.push_back(order);
  if (fitting.size() > 1)
    invalid_argument(where,
                     "weights of layer \"{}\" fit in {} orders, and their names do not tell which "
                     "is meant: {}",
                     place.layer->name(), fitting.size(),
                     name_list(group.weights, [](const SavedWeight& w) { return w.name; }));
  // Where none fits, the first says what differs.
  return fitting.empty() ? orders.front() : fitting.front();
}

/// Keras 1 could keep kernels as [filters, channels, height, width]. They come with an order of
/// flattened images that a Dense layer after them has learnt too.
void check_channels_last(const SavedWeight& weight, const WeightName& name,
                         const Variable& variable, const std::string& where) {
  const bool is_of_keras1 = !name.scope.empty() && weight.name.find('/') == std::string::npos;
  if (!is_of_keras1 || variable.shape.rank() != 4 || weight.shape.rank() != 4) return;
  const Shape& s = weight.shape;
  if (Shape{s[2], s[3], s[1], s[0]} != variable.shape) return;
  if (s == variable.shape)
    invalid_argument(where,
                     "kernel \"{}\" may be of dim_ordering \"tf\" or \"th\": its shape {} does not "
                     "tell",
                     weight.path, s.str());
  unsupported(where,
              "unsupported kernel \"{}\" with channels first (dim_ordering \"th\"): {} for {}",
              weight.path, s.str(), variable.shape.str());
}

using Values = std::vector<std::pair<VariablePtr, HostTensor>>;

void read_values(const Hdf5Reader& h5, const SavedGroup& group, const Place& place,
                 const std::string& where, Values& values) {
  const auto name_of = [](const SavedWeight& weight) { return weight.name; };
  if (group.weights.size() != place.variables.size())
    invalid_argument(where, "layer \"{}\" has {} weights: group \"{}\" holds {} ({})",
                     place.layer->name(), place.variables.size(), group.name, group.weights.size(),
                     name_list(group.weights, name_of));
  std::vector<WeightName> names;
  for (const SavedWeight& weight : group.weights) names.push_back(parse_weight_name(weight.name));
  const auto named = match_by_name(names, place.variables);
  const Order order = named ? *named : match_by_position(group, names, place, where);
  for (size_t i = 0; i < order.size(); ++i) {
    const auto& [variable, scope] = place.variables[order[i]];
    const SavedWeight& weight = group.weights[i];
    check_channels_last(weight, names[i], *variable, where);
    if (weight.shape != variable->shape)
      invalid_argument(where, "\"{}\" of layer \"{}\" must be {}: \"{}\" is {}", variable->name,
                       scope.back(), variable->shape.str(), weight.path, weight.shape.str());
    values.emplace_back(variable, h5.read(weight.path).as(variable->dtype));
  }
}

/// A variable of two layers is written with both; there is no telling which of two values is meant.
void store(Values values, const std::string& where) {
  std::unordered_map<const Variable*, const HostTensor*> first;
  for (const auto& [variable, value] : values)
    if (const auto [it, is_new] = first.emplace(variable.get(), &value);
        !is_new && !it->second->same_bits(value))
      invalid_argument(where, "\"{}\" is shared, and must have one value: the file has two",
                       variable->path);
  for (auto& [variable, value] : values) variable->value = std::move(value);
}

}  // namespace

std::optional<std::string> legacy_weights_group(const Hdf5Reader& h5) {
  if (h5.text_list_attribute("", kLayerNames)) return "";
  if (h5.has_group("model_weights")) return "model_weights";
  return std::nullopt;
}

void load_legacy_weights(const Hdf5Reader& h5, const std::string& group, const std::string& where,
                         const Network& network) {
  const std::vector<SavedGroup> groups = read_groups(h5, group, where);
  std::vector<Place> places = places_of(network.layers());
  // The network wraps what the file holds.
  while (places.size() == 1 && groups.size() > 1 && !places[0].layer->layers().empty())
    places = places_of(places[0].layer->layers());
  // The file wraps the network: its one group lists all weights.
  if (groups.size() == 1 && places.size() > 1) places = {{&network, scoped_variables(network)}};
  const std::vector<const SavedGroup*> pairs = pair_groups(groups, places, where);
  Values values;
  for (size_t i = 0; i < places.size(); ++i) read_values(h5, *pairs[i], places[i], where, values);
  store(std::move(values), where);
}

Bytes legacy_weights_bytes(const ModelSnapshot& snapshot) {
  std::unordered_map<const Variable*, const HostTensor*> values;
  const std::vector<VariablePtr> variables = snapshot.network->all_variables();
  LOCKSTEP_CHECK(variables.size() == snapshot.values.size());
  for (size_t i = 0; i < variables.size(); ++i) values[variables[i].get()] = &snapshot.values[i];
  Hdf5Writer h5;
  h5.add_text_attribute("", "backend", "tensorflow");
  h5.add_text_attribute("", "keras_version", "3.15.1");
  std::vector<std::string> layer_names;
  for (const LayerPtr& layer : snapshot.network->layers()) {
    layer_names.push_back(layer->name());
    h5.add_group(layer->name());
    // Keras reads by position, in this order.
    std::vector<VariablePtr> ordered = layer->trainable_variables();
    const std::set<VariablePtr> trainable(ordered.begin(), ordered.end());
    for (const VariablePtr& variable : layer->all_variables())
      if (!trainable.contains(variable)) ordered.push_back(variable);
    std::vector<std::string> weight_names;
    for (const VariablePtr& variable : ordered) {
      weight_names.push_back(variable->path);
      h5.add_dataset(joined(layer->name(), variable->path), *values.at(variable.get()));
    }
    h5.add_text_list_attribute(layer->name(), std::string(kWeightNames), weight_names);
  }
  h5.add_text_list_attribute("", std::string(kLayerNames), layer_names);
  h5.add_group("top_level_model_weights");
  h5.add_text_list_attribute("top_level_model_weights", std::string(kWeightNames), {});
  return h5.finish();
}

}  // namespace lockstep
