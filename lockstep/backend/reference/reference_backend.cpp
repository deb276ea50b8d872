#include "lockstep/backend/reference/reference_backend.h"

#include "lockstep/passes/pass.h"

namespace lockstep {
namespace {

void check_inputs(const Graph& graph, std::span<const HostTensor> inputs) {
  if (inputs.size() != graph.parameters().size())
    invalid_argument("reference", "{} inputs expected: {} came", graph.parameters().size(),
                     inputs.size());
  for (size_t i = 0; i < inputs.size(); ++i) {
    const ParameterAttrs& parameter = graph.parameter(static_cast<int>(i));
    if (inputs[i].type() != parameter.type)
      invalid_argument("reference", "input {} \"{}\" must be {}: {}", i, parameter.name,
                       parameter.type.str(), inputs[i].type().str());
  }
}

class ReferenceContext : public ExecutionContext {
 public:
  size_t size_bytes() const override { return 0; }
};

class ReferenceExecutable : public Executable {
 public:
  explicit ReferenceExecutable(std::unique_ptr<Graph> graph) : graph_(std::move(graph)) {
    for (int parameter : graph_->parameters()) input_types_.push_back(graph_->type(parameter));
    for (int result : graph_->results()) output_types_.push_back(graph_->type(result));
  }

  std::unique_ptr<ExecutionContext> create_context(int) const override {
    return std::make_unique<ReferenceContext>();
  }

  void run(ExecutionContext&, std::span<const void* const> inputs,
           std::span<void* const> outputs) const override {
    std::vector<HostTensor> tensors;
    for (size_t i = 0; i < inputs.size(); ++i) {
      HostTensor& tensor = tensors.emplace_back(input_types_[i]);
      if (tensor.size_bytes() > 0) std::memcpy(tensor.bytes(), inputs[i], tensor.size_bytes());
    }
    const std::vector<HostTensor> results = evaluate(*graph_, tensors);
    for (size_t i = 0; i < results.size(); ++i)
      if (results[i].size_bytes() > 0)
        std::memcpy(outputs[i], results[i].bytes(), results[i].size_bytes());
  }

  std::string describe() const override { return graph_->str(); }

 private:
  std::unique_ptr<Graph> graph_;
};

class ReferenceBackend : public Backend {
 public:
  std::string_view kind() const override { return "reference"; }
  std::unique_ptr<Executable> compile(const Graph& graph, const CompileOptions&) const override {
    return std::make_unique<ReferenceExecutable>(simplify(graph));
  }
  void enter_device_thread() const override {}
  std::string version() const override { return "reference"; }
};

}  // namespace

std::unique_ptr<Backend> make_reference_backend() {
  return std::make_unique<ReferenceBackend>();
}

std::vector<HostTensor> evaluate(const Graph& graph, std::span<const HostTensor> inputs) {
  check_inputs(graph, inputs);
  std::vector<int> uses = graph.use_counts();
  std::vector<HostTensor> owned(uses.size());
  std::vector<const HostTensor*> values(uses.size());
  for (size_t i = 0; i < uses.size(); ++i) values[i] = &owned[i];
  for (size_t i = 0; i < inputs.size(); ++i)
    values[static_cast<size_t>(graph.parameters()[i])] = &inputs[i];
  for (const Node& node : graph.nodes()) {
    if (node.opcode == Opcode::kParameter) continue;
    std::vector<const HostTensor*> operands;
    for (int operand : node.operands) operands.push_back(values[static_cast<size_t>(operand)]);
    std::vector<HostTensor> results;
    for (int result : node.results) results.emplace_back(graph.type(result));
    op_def(node.opcode).rules().eval(operands, node.attrs, results);
    for (size_t i = 0; i < results.size(); ++i)
      if (uses[static_cast<size_t>(node.results[i])] > 0)
        owned[static_cast<size_t>(node.results[i])] = std::move(results[i]);
    for (int operand : node.operands)
      if (--uses[static_cast<size_t>(operand)] == 0) owned[static_cast<size_t>(operand)] = {};
  }
  std::vector<HostTensor> results;
  for (int result : graph.results()) results.push_back(*values[static_cast<size_t>(result)]);
  return results;
}

}  // namespace lockstep
