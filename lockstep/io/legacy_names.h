// Which weight of an old file belongs to which variable, told by their names.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "lockstep/nn/layer.h"

namespace lockstep {

/// The name of a weight taken apart: "inner/dense_1/kernel:0" has the scope {"inner", "dense_1"}
/// and the variable "kernel"; Keras 1's "conv1_W_1:0" {"conv1"} and "kernel".
struct WeightName {
  std::vector<std::string> scope;
  std::string variable;
};
WeightName parse_weight_name(const std::string& name);

/// A variable and the names of the layers it lies in, the outermost first, its own last.
struct ScopedVariable {
  VariablePtr variable;
  std::vector<std::string> scope;
};
/// Of a layer and all its sub-layers, each once, in the order of `all_variables()`.
std::vector<ScopedVariable> scoped_variables(const Layer& layer);

/// For each name the index of its variable, when the names say so: by scope and variable, by scopes
/// whose automatic numbers were counted from elsewhere (dense_3, dense_4 for dense, dense_1), or by
/// the variable alone where it is the only one of its name. There are as many names as variables.
std::optional<std::vector<size_t>> match_by_name(const std::vector<WeightName>& names,
                                                 const std::vector<ScopedVariable>& variables);

/// A name that Keras made for a layer of this class: "dense", "dense_1".
bool is_automatic_name(const std::string& name, std::string_view class_name);

}  // namespace lockstep
