#include "lockstep/io/legacy_names.h"

#include <algorithm>
#include <array>
#include <map>
#include <set>

namespace lockstep {
namespace {

/// "dense_12" is {"dense", 12}; "dense" is {"dense", -1}.
struct NumberedName {
  std::string base;
  int64_t number = -1;
};

NumberedName numbered_name(const std::string& name) {
  const size_t end = name.find_last_not_of("0123456789");
  const size_t digits = end == std::string::npos ? name.size() : name.size() - end - 1;
  // More digits are no counter of Keras's.
  if (digits == 0 || digits > 9 || name[end] != '_' || end == 0) return {name};
  return {name.substr(0, end), std::stoll(name.substr(end + 1))};
}

/// Keras 1's names end in the kind of the weight.
struct Keras1Kind {
  std::string_view suffix, variable;
};
constexpr std::array<Keras1Kind, 6> kKeras1Kinds = {{{"_W", "kernel"},
                                                     {"_b", "bias"},
                                                     {"_gamma", "gamma"},
                                                     {"_beta", "beta"},
                                                     {"_running_mean", "moving_mean"},
                                                     // It held the variance, whatever it is called.
                                                     {"_running_std", "moving_variance"}}};

std::optional<WeightName> keras1_name(const std::string& name) {
  for (const std::string& stem : {name, numbered_name(name).base})
    for (const auto& [suffix, variable] : kKeras1Kinds)
      if (stem.size() > suffix.size() && stem.ends_with(suffix))
        return WeightName{{stem.substr(0, stem.size() - suffix.size())}, std::string(variable)};
  return std::nullopt;
}

void collect(const Layer& layer, std::vector<std::string>& scope, std::set<const Variable*>& seen,
             std::vector<ScopedVariable>& result) {
  scope.push_back(layer.name());
  for (const VariablePtr& variable : layer.variables())
    if (seen.insert(variable.get()).second) result.push_back({variable, scope});
  for (const LayerPtr& child : layer.layers()) collect(*child, scope, seen, result);
  scope.pop_back();
}

using Key = std::vector<std::string>;

/// The variable's name after the last `depth` names of its scope.
Key key_of(const std::vector<std::string>& scope, const std::string& variable, size_t depth) {
  Key key(scope.end() - static_cast<std::ptrdiff_t>(std::min(depth, scope.size())), scope.end());
  key.push_back(variable);
  return key;
}

/// Pairs equal keys; nothing unless every key is there once on both sides.
std::optional<std::vector<size_t>> match_keys(const std::vector<Key>& names,
                                              const std::vector<Key>& variables) {
  std::map<Key, size_t> places;
  for (size_t i = 0; i < variables.size(); ++i)
    if (!places.emplace(variables[i], i).second) return std::nullopt;
  std::vector<size_t> result;
  for (const Key& name : names) {
    const auto place = places.find(name);
    if (place == places.end()) return std::nullopt;
    result.push_back(place->second);
    places.erase(place);
  }
  return result;
}

/// Keys whose innermost layer is numbered within its base name: the second "dense" of all, whatever
/// its number.
std::vector<Key> ranked_keys(const std::vector<Key>& scopes,
                             const std::vector<std::string>& variables) {
  std::map<std::string, std::set<std::pair<int64_t, Key>>> layers;
  for (const Key& scope : scopes) {
    const NumberedName name = numbered_name(scope.back());
    layers[name.base].emplace(name.number, scope);
  }
  std::map<Key, std::string> ranks;
  for (const auto& [base, numbered] : layers) {
    int rank = 0;
    for (const auto& [number, scope] : numbered) ranks[scope] = fmt::format("{} {}", base, rank++);
  }
  std::vector<Key> keys;
  for (size_t i = 0; i < scopes.size(); ++i) keys.push_back({ranks.at(scopes[i]), variables[i]});
  return keys;
}

}  // namespace

WeightName parse_weight_name(const std::string& name) {
  std::string rest = name;
  // TensorFlow's number of a result: "kernel:0".
  if (const size_t colon = rest.rfind(':');
      colon != std::string::npos && colon > 0 &&
      rest.find_first_not_of("0123456789", colon + 1) == std::string::npos)
    rest.resize(colon);
  if (rest.find('/') == std::string::npos)
    if (auto old = keras1_name(rest)) return *std::move(old);
  WeightName result;
  size_t begin = 0;
  for (size_t slash; (slash = rest.find('/', begin)) != std::string::npos; begin = slash + 1)
    result.scope.push_back(rest.substr(begin, slash - begin));
  result.variable = rest.substr(begin);
  return result;
}

std::vector<ScopedVariable> scoped_variables(const Layer& layer) {
  std::vector<std::string> scope;
  std::set<const Variable*> seen;
  std::vector<ScopedVariable> result;
  collect(layer, scope, seen, result);
  return result;
}

std::optional<std::vector<size_t>> match_by_name(const std::vector<WeightName>& names,
                                                 const std::vector<ScopedVariable>& variables) {
  LOCKSTEP_CHECK(names.size() == variables.size());
  const auto match_at = [&](size_t depth) {
    std::vector<Key> ours, theirs;
    for (const WeightName& name : names) theirs.push_back(key_of(name.scope, name.variable, depth));
    for (const ScopedVariable& v : variables)
      ours.push_back(key_of(v.scope, v.variable->name, depth));
    return match_keys(theirs, ours);
  };
  size_t deepest = 0;
  bool all_scoped = true;
  for (const WeightName& name : names) {
    deepest = std::max(deepest, name.scope.size());
    all_scoped = all_scoped && !name.scope.empty();
  }
  // Keras leaves outer names away here and there: fewer and fewer of them are asked for.
  for (size_t depth = deepest; depth > 0; --depth)
    if (auto match = match_at(depth)) return match;
  if (all_scoped) {
    // TensorFlow made scopes unique: "conv2d_1_1/kernel" is of conv2d_1.
    std::vector<Key> theirs, ours;
    for (const WeightName& name : names)
      theirs.push_back({numbered_name(name.scope.back()).base, name.variable});
    for (const ScopedVariable& v : variables) ours.push_back({v.scope.back(), v.variable->name});
    if (auto match = match_keys(theirs, ours)) return match;
    std::vector<Key> scopes, our_scopes;
    std::vector<std::string> kinds, our_kinds;
    for (const WeightName& name : names) {
      scopes.push_back(name.scope);
      kinds.push_back(name.variable);
    }
    for (const ScopedVariable& v : variables) {
      our_scopes.push_back(v.scope);
      our_kinds.push_back(v.variable->name);
    }
    if (auto match = match_keys(ranked_keys(scopes, kinds), ranked_keys(our_scopes, our_kinds)))
      return match;
  }
  return match_at(0);
}

bool is_automatic_name(const std::string& name, std::string_view class_name) {
  return numbered_name(name).base == snake_case(class_name);
}

}  // namespace lockstep
