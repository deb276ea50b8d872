#include "lockstep/ir/graph.h"

#include <fmt/ranges.h>

namespace lockstep {

const TensorType& Value::type() const {
  return graph->type(id);
}

std::vector<int> Graph::use_counts() const {
  std::vector<int> uses(values_.size(), 0);
  for (const Node& node : nodes_)
    for (int operand : node.operands) ++uses[operand];
  for (int result : results_) ++uses[result];
  return uses;
}

const Node& Graph::append(Opcode opcode, std::vector<int> operands, Attrs attrs,
                          std::string context) {
  const OpDef& def = op_def(opcode);
  if (def.operand_count >= 0 && def.operand_count != static_cast<int>(operands.size()))
    invalid_argument(def.mnemonic, "{} operands expected: {} came (layer \"{}\")",
                     def.operand_count, operands.size(), context);
  std::vector<TensorType> operand_types;
  for (int operand : operands) operand_types.push_back(type(operand));
  std::vector<TensorType> result_types;
  try {
    result_types = def.rules().infer(operand_types, attrs);
  } catch (const Error& error) {
    if (context.empty()) throw;
    throw Error(error.code(), "", fmt::format("{} (layer \"{}\")", error.what(), context));
  }
  Node node{static_cast<int>(nodes_.size()),
            opcode,
            std::move(attrs),
            std::move(operands),
            {},
            std::move(context)};
  for (size_t i = 0; i < result_types.size(); ++i) {
    node.results.push_back(value_count());
    values_.push_back({node.id, static_cast<int>(i), std::move(result_types[i])});
  }
  if (opcode == Opcode::kParameter) {
    LOCKSTEP_CHECK(node.as<ParameterAttrs>().index == static_cast<int>(parameters_.size()));
    parameters_.push_back(node.results[0]);
  }
  return nodes_.emplace_back(std::move(node));
}

std::string Graph::str() const {
  std::string text;
  for (const Node& node : nodes_) {
    std::vector<std::string> types;
    for (int result : node.results) types.push_back(type(result).str());
    const char* before_operands = node.operands.empty() ? "" : " %";
    text +=
        fmt::format("%{} = {}{}{} : {}{}\n", fmt::join(node.results, ", %"),
                    op_def(node.opcode).mnemonic, before_operands, fmt::join(node.operands, ", %"),
                    fmt::join(types, ", "), node.context.empty() ? "" : "  # " + node.context);
  }
  return text + fmt::format("return %{}\n", fmt::join(results_, ", %"));
}

}  // namespace lockstep
