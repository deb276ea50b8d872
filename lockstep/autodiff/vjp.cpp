#include "lockstep/autodiff/vjp.h"

#include <algorithm>

namespace lockstep {
namespace {

/// For each value: does it depend on one of `wrt`?
std::vector<bool> depends_on(const Graph& graph, const std::vector<Value>& wrt) {
  std::vector<bool> depends(static_cast<size_t>(graph.value_count()), false);
  for (const Value& value : wrt) depends[static_cast<size_t>(value.id)] = true;
  for (const Node& node : graph.nodes())
    if (std::any_of(node.operands.begin(), node.operands.end(),
                    [&](int operand) { return depends[static_cast<size_t>(operand)]; }))
      for (int result : node.results) depends[static_cast<size_t>(result)] = true;
  return depends;
}

}  // namespace

std::vector<Value> gradients(Builder& builder, const std::vector<std::pair<Value, Value>>& seeds,
                             const std::vector<Value>& wrt) {
  Graph& graph = builder.graph();
  const int node_count = static_cast<int>(graph.nodes().size());
  const std::vector<bool> depends = depends_on(graph, wrt);
  std::vector<Value> cotangents(depends.size());
  const auto contribute = [&](int value, Value cotangent) {
    if (!cotangent.valid() || !depends[static_cast<size_t>(value)]) return;
    Value& sum = cotangents[static_cast<size_t>(value)];
    LOCKSTEP_CHECK(cotangent.type() == graph.type(value));
    sum = sum.valid() ? builder.add(sum, cotangent) : cotangent;
  };
  for (const auto& [value, cotangent] : seeds) contribute(value.id, cotangent);

  const std::string context = builder.set_context("");
  for (int id = node_count - 1; id >= 0; --id) {
    // Copied: the graph grows while the rule writes into it.
    const Node node = graph.node(id);
    std::vector<Value> operands, results, flowing;
    bool flows = false;
    for (int result : node.results) {
      results.push_back({&graph, result});
      flowing.push_back(cotangents[static_cast<size_t>(result)]);
      flows = flows || flowing.back().valid();
    }
    bool reaches = false;
    for (int operand : node.operands) {
      operands.push_back({&graph, operand});
      reaches = reaches || depends[static_cast<size_t>(operand)];
    }
    if (!flows || !reaches) continue;
    const OpDef& def = op_def(node.opcode);
    if (def.rules().vjp == nullptr)
      unsupported(def.mnemonic, "has no gradient, and one is wanted through it (layer \"{}\")", node.context);
    builder.set_context(node.context);
    const std::vector<Value> grads = def.rules().vjp({builder, node.attrs, operands, results, flowing});
    LOCKSTEP_CHECK(grads.size() == operands.size());
    for (size_t i = 0; i < grads.size(); ++i) contribute(operands[i].id, grads[i]);
  }
  builder.set_context(context);

  std::vector<Value> result;
  for (const Value& value : wrt) result.push_back(cotangents[static_cast<size_t>(value.id)]);
  return result;
}

}  // namespace lockstep
