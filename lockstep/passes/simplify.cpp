#include <cmath>
#include <optional>
#include <unordered_map>

#include "lockstep/passes/pass.h"

namespace lockstep {
namespace {

constexpr int64_t kLargestFold = 1024;  // elements

size_t mix(size_t seed, size_t value) { return seed ^ (value + 0x9e3779b97f4a7c15u + (seed << 6) + (seed >> 2)); }

/// Copies the live nodes of one graph into another, simplified on the way.
class Simplifier {
 public:
  explicit Simplifier(const Graph& from) : from_(from), values_(static_cast<size_t>(from.value_count()), -1) {}

  std::unique_ptr<Graph> run() {
    const std::vector<bool> live = live_nodes();
    for (const Node& node : from_.nodes())
      if (live[static_cast<size_t>(node.id)]) copy(node);
    std::vector<int> results;
    for (int result : from_.results()) results.push_back(mapped(result));
    to_->set_results(std::move(results));
    return std::move(to_);
  }

 private:
  int& mapped(int value) { return values_[static_cast<size_t>(value)]; }

  std::vector<bool> live_nodes() const {
    std::vector<bool> live(from_.nodes().size(), false);
    for (int result : from_.results()) live[static_cast<size_t>(from_.producer(result).id)] = true;
    for (int id = static_cast<int>(live.size()) - 1; id >= 0; --id) {
      const Node& node = from_.node(id);
      if (node.opcode == Opcode::kParameter) live[static_cast<size_t>(id)] = true;
      if (!live[static_cast<size_t>(id)]) continue;
      for (int operand : node.operands) live[static_cast<size_t>(from_.producer(operand).id)] = true;
    }
    return live;
  }

  void copy(const Node& node) {
    std::vector<int> operands;
    for (int operand : node.operands) operands.push_back(mapped(operand));
    if (const int same = identity(node, operands); same >= 0) {
      mapped(node.results[0]) = same;
      return;
    }
    Opcode opcode = node.opcode;
    Attrs attrs = node.attrs;
    if (opcode == Opcode::kReshape) operands[0] = through_reshape(operands[0]);
    if (std::optional<HostTensor> folded = fold(node, operands)) {
      opcode = Opcode::kConstant;
      attrs = ConstantAttrs{folded->type(), std::move(*folded)};
      operands.clear();
    }
    const Node& result = find_or_append(opcode, operands, attrs, node.context);
    for (size_t i = 0; i < node.results.size(); ++i) mapped(node.results[i]) = result.results[i];
  }

  /// Merges equal nodes. Parameters are never equal: their positions differ.
  const Node& find_or_append(Opcode opcode, const std::vector<int>& operands, const Attrs& attrs, const std::string& context) {
    size_t hash = static_cast<size_t>(opcode);
    for (int operand : operands) hash = mix(hash, static_cast<size_t>(operand));
    auto& bucket = seen_[hash];
    for (int id : bucket) {
      const Node& other = to_->node(id);
      if (other.opcode == opcode && other.operands == operands && other.attrs == attrs) return other;
    }
    const Node& node = to_->append(opcode, operands, attrs, context);
    bucket.push_back(node.id);
    return node;
  }

  /// The operand that the node is equal to, bit for bit, or -1.
  int identity(const Node& node, const std::vector<int>& operands) const {
    if (node.results.size() != 1 || operands.empty()) return -1;
    const bool same_type = to_->type(operands[0]) == from_.type(node.results[0]);
    switch (node.opcode) {
      case Opcode::kReshape:
      case Opcode::kBroadcastInDim:
      case Opcode::kConvert: return same_type ? operands[0] : -1;
      case Opcode::kTranspose: {
        const Dims& permutation = node.as<TransposeAttrs>().permutation;
        for (size_t i = 0; i < permutation.size(); ++i)
          if (permutation[i] != static_cast<int64_t>(i)) return -1;
        return operands[0];
      }
      case Opcode::kNegate: {
        const Node& inner = to_->producer(operands[0]);
        return inner.opcode == Opcode::kNegate ? inner.operands[0] : -1;
      }
      case Opcode::kMultiply:
        if (is_splat(operands[1], 1.0)) return operands[0];
        return is_splat(operands[0], 1.0) ? operands[1] : -1;
      case Opcode::kDivide: return is_splat(operands[1], 1.0) ? operands[0] : -1;
      // x + 0 would turn -0 into 0; x - 0 and x + -0 keep every bit.
      case Opcode::kSubtract: return is_splat(operands[1], 0.0) ? operands[0] : -1;
      default: return -1;
    }
  }

  /// Is this value a constant (perhaps broadcast) of one element, +0 told from -0?
  bool is_splat(int value, double wanted) const {
    const Node* node = &to_->producer(value);
    if (node->opcode == Opcode::kBroadcastInDim) node = &to_->producer(node->operands[0]);
    if (node->opcode != Opcode::kConstant) return false;
    const HostTensor& constant = node->as<ConstantAttrs>().value;
    if (constant.size() != 1 || constant.dtype() == DType::kBool) return false;
    const double element = constant.as(DType::kF64).data<double>()[0];
    return element == wanted && std::signbit(element) == std::signbit(wanted);
  }

  int through_reshape(int value) const {
    const Node& inner = to_->producer(value);
    return inner.opcode == Opcode::kReshape ? inner.operands[0] : value;
  }

  /// The value of a node whose operands are all small constants.
  std::optional<HostTensor> fold(const Node& node, const std::vector<int>& operands) const {
    const uint32_t foldable = kElementwise | kMovement | kReduction;
    if (operands.empty() || node.results.size() != 1 || !has_trait(node.opcode, foldable)) return std::nullopt;
    const TensorType& type = from_.type(node.results[0]);
    if (type.size() > kLargestFold) return std::nullopt;
    std::vector<HostTensor> tensors;
    for (int operand : operands) {
      const Node& producer = to_->producer(operand);
      if (producer.opcode != Opcode::kConstant || to_->type(operand).size() > kLargestFold) return std::nullopt;
      HostTensor& tensor = tensors.emplace_back(to_->type(operand));
      op_def(Opcode::kConstant).rules().eval({}, producer.attrs, {&tensor, 1});
    }
    std::vector<const HostTensor*> pointers;
    for (const HostTensor& tensor : tensors) pointers.push_back(&tensor);
    HostTensor result(type);
    op_def(node.opcode).rules().eval(pointers, node.attrs, {&result, 1});
    return result;
  }

  const Graph& from_;
  std::unique_ptr<Graph> to_ = std::make_unique<Graph>();
  std::vector<int> values_;
  std::unordered_map<size_t, std::vector<int>> seen_;
};

}  // namespace

std::unique_ptr<Graph> simplify(const Graph& graph) { return Simplifier(graph).run(); }

}  // namespace lockstep
