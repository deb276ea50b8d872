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

/// Cotangents gathered while walking from the results back.
class ReverseWalk {
 public:
  ReverseWalk(Builder& builder, const std::vector<Value>& wrt)
      : builder_(builder),
        graph_(builder.graph()),
        depends_(depends_on(graph_, wrt)),
        cotangents_(depends_.size()) {}

  Value cotangent(Value value) const { return cotangents_[static_cast<size_t>(value.id)]; }

  /// Adds to the cotangent of `value`, unless no gradient is wanted there.
  void contribute(Value value, Value cotangent) {
    if (!cotangent.valid() || !depends_[static_cast<size_t>(value.id)]) return;
    LOCKSTEP_CHECK(cotangent.type() == value.type());
    Value& sum = cotangents_[static_cast<size_t>(value.id)];
    sum = sum.valid() ? builder_.add(sum, cotangent) : cotangent;
  }

  /// Passes the cotangents of a node's results on to its operands.
  void visit(const Node& node) {
    const std::vector<Value> operands = values(node.operands), results = values(node.results);
    std::vector<Value> flowing;
    for (const Value& result : results) flowing.push_back(cotangent(result));
    const bool flows = std::any_of(flowing.begin(), flowing.end(),
                                   [](const Value& value) { return value.valid(); });
    const bool reaches = std::any_of(node.operands.begin(), node.operands.end(), [&](int operand) {
      return depends_[static_cast<size_t>(operand)];
    });
    if (!flows || !reaches) return;
    const OpDef& def = op_def(node.opcode);
    if (def.rules().vjp == nullptr)
      unsupported(def.mnemonic, "has no gradient, and one is wanted through it (layer \"{}\")",
                  node.context);
    builder_.set_context(node.context);
    const std::vector<Value> grads =
        def.rules().vjp({builder_, node.attrs, operands, results, flowing});
    LOCKSTEP_CHECK(grads.size() == operands.size());
    for (size_t i = 0; i < grads.size(); ++i) contribute(operands[i], grads[i]);
  }

 private:
  std::vector<Value> values(const std::vector<int>& ids) const {
    std::vector<Value> values;
    for (int id : ids) values.push_back({&graph_, id});
    return values;
  }

  Builder& builder_;
  Graph& graph_;
  std::vector<bool> depends_;
  std::vector<Value> cotangents_;
};

}  // namespace

std::vector<Value> gradients(Builder& builder, const std::vector<std::pair<Value, Value>>& seeds,
                             const std::vector<Value>& wrt) {
  const Graph& graph = builder.graph();
  const int node_count = static_cast<int>(graph.nodes().size());
  ReverseWalk walk(builder, wrt);
  const std::string context = builder.set_context("");
  for (const auto& [value, cotangent] : seeds) walk.contribute(value, cotangent);
  for (int id = node_count - 1; id >= 0; --id) walk.visit(graph.node(id));
  builder.set_context(context);

  std::vector<Value> result;
  for (const Value& value : wrt) result.push_back(walk.cotangent(value));
  return result;
}

}  // namespace lockstep
