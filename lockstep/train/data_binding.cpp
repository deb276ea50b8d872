#include "lockstep/train/data_binding.h"

#include <algorithm>

#include <fmt/ranges.h>

namespace lockstep {
namespace {

/// Position of the network's name that a column belongs to.
int position_of(const Column& column, const std::vector<std::string>& names, const char* prefix,
                int columns_of_role) {
  const auto it = std::find(names.begin(), names.end(), column.name);
  if (it != names.end()) return static_cast<int>(it - names.begin());
  if (names.size() == 1 && columns_of_role == 1) return 0;
  invalid_argument("data", "{}/{} belongs to nothing in the model, which has {}", prefix,
                   column.name, fmt::join(names, ", "));
}

/// Equal, or one has a last axis of 1 that the other lacks; as Keras adjusts inputs.
bool fits(const Shape& data, const Shape& wanted) {
  const auto with_one = [](Dims dims) {
    dims.push_back(1);
    return dims;
  };
  return data == wanted || with_one(data.dims()) == wanted.dims() ||
         data.dims() == with_one(wanted.dims());
}

/// The input's row shape, free axes taken from the data. Throws when they differ.
Shape input_shape(const Column& column, const Shape& wanted, const std::string& name) {
  Shape shape = wanted;
  Dims data = column.row.shape.dims();
  if (static_cast<int>(data.size()) == shape.rank())
    for (int axis = 0; axis < shape.rank(); ++axis)
      if (shape[axis] < 0) shape[axis] = data[static_cast<size_t>(axis)];
  if (!fits(column.row.shape, shape) || shape.size() < 0)
    invalid_argument("x/" + name, "samples must have shape {}: the data has {}", wanted.str(),
                     column.row.shape.str());
  return shape;
}

int count_role(const Dataset& dataset, Column::Role role) {
  return static_cast<int>(std::count_if(dataset.columns().begin(), dataset.columns().end(),
                                        [&](const Column& c) { return c.role == role; }));
}

void check_free(int bound, const Dataset& dataset, const Column& column, const std::string& name) {
  if (bound >= 0)
    invalid_argument("data", "{} and {} are both for \"{}\"",
                     column_key(dataset.columns()[static_cast<size_t>(bound)]), column_key(column),
                     name);
}

}  // namespace

DataBinding bind_data(const Dataset& dataset, const Network& network) {
  const std::vector<std::string> inputs = network.input_names(), outputs = network.output_names();
  DataBinding binding;
  binding.inputs.resize(inputs.size());
  binding.input_columns.assign(inputs.size(), -1);
  binding.targets.resize(outputs.size());
  binding.sample_weights.resize(outputs.size());
  binding.target_columns.assign(outputs.size(), -1);
  binding.weight_columns.assign(outputs.size(), -1);
  for (size_t c = 0; c < dataset.columns().size(); ++c) {
    const Column& column = dataset.columns()[c];
    const int of_role = count_role(dataset, column.role);
    switch (column.role) {
      case Column::Role::kInput: {
        const auto i = static_cast<size_t>(position_of(column, inputs, "x", of_role));
        check_free(binding.input_columns[i], dataset, column, inputs[i]);
        const TensorSpec& spec = network.inputs()[i].spec;
        binding.inputs[i] = {spec.dtype, input_shape(column, spec.shape.without_rows(), inputs[i])};
        binding.input_columns[i] = static_cast<int>(c);
        break;
      }
      case Column::Role::kTarget: {
        const auto i = static_cast<size_t>(position_of(column, outputs, "y", of_role));
        check_free(binding.target_columns[i], dataset, column, outputs[i]);
        binding.targets[i] = column.row;
        binding.target_columns[i] = static_cast<int>(c);
        break;
      }
      case Column::Role::kSampleWeight: {
        const auto i = static_cast<size_t>(position_of(column, outputs, "sample_weight", of_role));
        check_free(binding.weight_columns[i], dataset, column, outputs[i]);
        binding.sample_weights[i] = column.row;
        binding.weight_columns[i] = static_cast<int>(c);
        break;
      }
    }
  }
  for (size_t i = 0; i < inputs.size(); ++i)
    if (binding.input_columns[i] < 0)
      invalid_argument("data", "input \"{}\" needs a column x/{}: none came", inputs[i], inputs[i]);
  return binding;
}

std::vector<WantedColumn> wanted_columns(const DataBinding& binding, const StepLayout& layout) {
  std::vector<WantedColumn> wanted;
  for (const BatchColumn& column : layout.columns) {
    const auto index = static_cast<size_t>(column.index);
    const int from = column.role == BatchColumn::Role::kInput    ? binding.input_columns[index]
                     : column.role == BatchColumn::Role::kTarget ? binding.target_columns[index]
                                                                 : binding.weight_columns[index];
    LOCKSTEP_CHECK(from >= 0);
    wanted.push_back({static_cast<size_t>(from), column.row_type});
  }
  return wanted;
}

}  // namespace lockstep
