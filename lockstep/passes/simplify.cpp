#include <algorithm>
#include <cmath>
#include <optional>
#include <unordered_map>

#include "lockstep/passes/pass.h"

namespace lockstep {
namespace {

constexpr int64_t kLargestFold = 1024;  // elements

size_t mix(size_t seed, size_t value) {
  return seed ^ (value + 0x9e3779b97f4a7c15u + (seed << 6) + (seed >> 2));
}

std::string_view bytes_of(const HostTensor& tensor) {
  return {reinterpret_cast<const char*>(tensor.bytes()), tensor.size_bytes()};
}

/// Leaves have no operands to tell them apart; other nodes are told apart well enough by theirs.
size_t hash_of_leaf(const Attrs& attrs) {
  if (const auto* constant = std::get_if<ConstantAttrs>(&attrs))
    return std::hash<std::string_view>()(bytes_of(constant->value));
  if (const auto* parameter = std::get_if<ParameterAttrs>(&attrs))
    return static_cast<size_t>(parameter->index);
  return 0;
}

/// A constant that repeats one element holds that element alone: backends read it as a scalar.
ConstantAttrs compact_constant(HostTensor value) {
  const TensorType type = value.type();
  const std::string_view bytes = bytes_of(value);
  const size_t width = byte_size(type.dtype);
  // Equal to itself moved by one element: every element equals the one before.
  const bool repeats =
      !bytes.empty() && bytes.substr(width) == bytes.substr(0, bytes.size() - width);
  if (!repeats || type.shape.rank() == 0) return {type, std::move(value)};
  HostTensor element(type.dtype, Shape{});
  std::memcpy(element.bytes(), bytes.data(), width);
  return {type, std::move(element)};
}

/// Nodes some result needs, and every parameter.
std::vector<bool> live_nodes(const Graph& graph) {
  std::vector<bool> live(graph.nodes().size(), false);
  const auto mark = [&](int value) { live[static_cast<size_t>(graph.producer(value).id)] = true; };
  for (int parameter : graph.parameters()) mark(parameter);
  for (int result : graph.results()) mark(result);
  for (size_t id = live.size(); id-- > 0;) {
    if (!live[id]) continue;
    for (int operand : graph.node(static_cast<int>(id)).operands) mark(operand);
  }
  return live;
}

/// Copies the live nodes of one graph into another, each as `rewrite` makes it.
class Copier {
 public:
  explicit Copier(const Graph& from) : from_(from) {}
  virtual ~Copier() = default;

  std::unique_ptr<Graph> run() {
    values_.assign(static_cast<size_t>(from_.value_count()), -1);
    const std::vector<bool> live = live_nodes(from_);
    for (const Node& node : from_.nodes())
      if (live[static_cast<size_t>(node.id)]) copy(node);
    to_->set_results(mapped(from_.results()));
    return std::move(to_);
  }

 protected:
  /// Values of the new graph that stand for the node's results.
  virtual std::vector<int> rewrite(const Node& node, std::vector<int> operands) {
    return to_->append(node.opcode, std::move(operands), node.attrs, node.context).results;
  }

  const Graph& from_;
  std::unique_ptr<Graph> to_ = std::make_unique<Graph>();

 private:
  std::vector<int> mapped(std::vector<int> values) const {
    for (int& value : values) value = values_[static_cast<size_t>(value)];
    return values;
  }

  void copy(const Node& node) {
    const std::vector<int> results = rewrite(node, mapped(node.operands));
    for (size_t i = 0; i < results.size(); ++i)
      values_[static_cast<size_t>(node.results[i])] = results[i];
  }

  std::vector<int> values_;
};

class Simplifier : public Copier {
 public:
  using Copier::Copier;

 private:
  std::vector<int> rewrite(const Node& node, std::vector<int> operands) override {
    if (node.opcode == Opcode::kReshape) operands[0] = through_reshape(operands[0]);
    if (const int same = identity(node, operands); same >= 0) return {same};
    if (std::optional<HostTensor> folded = fold(node, operands))
      return find_or_append(Opcode::kConstant, {}, compact_constant(std::move(*folded)),
                            node.context);
    return find_or_append(node.opcode, std::move(operands), node.attrs, node.context);
  }

  /// Merges equal nodes. Parameters are never equal: their positions differ.
  std::vector<int> find_or_append(Opcode opcode, std::vector<int> operands, Attrs attrs,
                                  const std::string& context) {
    size_t hash = mix(static_cast<size_t>(opcode), hash_of_leaf(attrs));
    for (int operand : operands) hash = mix(hash, static_cast<size_t>(operand));
    std::vector<int>& bucket = seen_[hash];
    for (int id : bucket) {
      const Node& other = to_->node(id);
      if (other.opcode == opcode && other.operands == operands && other.attrs == attrs)
        return other.results;
    }
    const Node& node = to_->append(opcode, std::move(operands), std::move(attrs), context);
    bucket.push_back(node.id);
    return node.results;
  }

  int through_reshape(int value) const {
    const Node& inner = to_->producer(value);
    return inner.opcode == Opcode::kReshape ? inner.operands[0] : value;
  }

  /// The operand that the node is equal to, bit for bit, or -1.
  int identity(const Node& node, const std::vector<int>& operands) const {
    switch (node.opcode) {
      case Opcode::kReshape:
      case Opcode::kBroadcastInDim:
      case Opcode::kConvert:
        return to_->type(operands[0]) == from_.type(node.results[0]) ? operands[0] : -1;
      case Opcode::kTranspose: {
        const Dims& permutation = node.as<TransposeAttrs>().permutation;
        return std::is_sorted(permutation.begin(), permutation.end()) ? operands[0] : -1;
      }
      case Opcode::kNegate: {
        const Node& inner = to_->producer(operands[0]);
        return inner.opcode == Opcode::kNegate ? inner.operands[0] : -1;
      }
      case Opcode::kMultiply:
        if (is_splat(operands[1], 1.0)) return operands[0];
        return is_splat(operands[0], 1.0) ? operands[1] : -1;
      case Opcode::kDivide:
        return is_splat(operands[1], 1.0) ? operands[0] : -1;
      // x + 0 would turn -0 into 0; x - 0 keeps every bit.
      case Opcode::kSubtract:
        return is_splat(operands[1], 0.0) ? operands[0] : -1;
      default:
        return -1;
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

  /// The value of a node whose operands are all small constants, by the op's own eval.
  std::optional<HostTensor> fold(const Node& node, const std::vector<int>& operands) const {
    constexpr uint32_t kFoldable = kElementwise | kMovement | kReduction;
    if (operands.empty() || node.results.size() != 1 || !has_trait(node.opcode, kFoldable))
      return std::nullopt;
    const TensorType& type = from_.type(node.results[0]);
    if (type.size() > kLargestFold) return std::nullopt;
    std::vector<HostTensor> tensors;
    for (int operand : operands) {
      const Node& producer = to_->producer(operand);
      if (producer.opcode != Opcode::kConstant || to_->type(operand).size() > kLargestFold)
        return std::nullopt;
      HostTensor& tensor = tensors.emplace_back(to_->type(operand));
      op_def(Opcode::kConstant).rules().eval({}, producer.attrs, {&tensor, 1});
    }
    std::vector<const HostTensor*> pointers;
    for (const HostTensor& tensor : tensors) pointers.push_back(&tensor);
    HostTensor result(type);
    op_def(node.opcode).rules().eval(pointers, node.attrs, {&result, 1});
    return result;
  }

  std::unordered_map<size_t, std::vector<int>> seen_;  // hash -> nodes of the new graph
};

}  // namespace

std::unique_ptr<Graph> simplify(const Graph& graph) {
  const std::unique_ptr<Graph> simpler = Simplifier(graph).run();
  return Copier(*simpler).run();  // without what rewriting has left unused
}

}  // namespace lockstep
