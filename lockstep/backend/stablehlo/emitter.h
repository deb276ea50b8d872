// What the emit functions of all op families share: names of values, types as text, new lines.
#pragma once

#include <fmt/format.h>

#include <functional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "lockstep/ir/builder.h"

namespace lockstep {

/// "tensor<2x3xf32>", "tensor<f32>".
std::string mlir_type(const TensorType& type);

/// How elements of a dtype are compared: "FLOAT", "SIGNED", "UNSIGNED".
std::string_view comparison_kind(DType dtype);

/// "[1, 2, 3]"
template <class Range>
std::string mlir_list(const Range& numbers) {
  return fmt::format("[{}]", fmt::join(numbers, ", "));
}

/// "array<i64: 1, 2>"
template <class Range>
std::string mlir_array(const Range& numbers) {
  return fmt::format("array<i64: {}>", fmt::join(numbers, ", "));
}

/// "dense<[[0, 1], [2, 3]]> : tensor<2x2xi64>": low and high padding, one row an axis.
std::string mlir_pairs(std::span<const std::pair<int64_t, int64_t>> pairs);

/// The lines of one function. Values are known by their SSA names ("%7").
class Emitter {
 public:
  explicit Emitter(const Graph& graph) { scopes_.push_back(scope_of(graph)); }

  /// The graph whose nodes are being emitted.
  const Graph& graph() const { return *scopes_.back().graph; }
  const TensorType& type(int value) const { return graph().type(value); }
  std::string tensor(int value) const { return mlir_type(type(value)); }

  const std::string& name(int value) const;
  void set_name(int value, std::string name);

  /// Appends `%n = text` and returns "%n".
  std::string let(const std::string& text);
  template <class... Args>
  std::string let(fmt::format_string<Args...> format, Args&&... args) {
    return let(fmt::format(format, std::forward<Args>(args)...));
  }
  /// The same, for the node's only result.
  template <class... Args>
  void define(const Node& node, fmt::format_string<Args...> format, Args&&... args) {
    set_name(node.results[0], let(fmt::format(format, std::forward<Args>(args)...)));
  }
  /// Appends `%n:count = text`; result i is "%n#i".
  std::string let_many(const std::string& text, size_t count);

  /// A constant that repeats one element, written bit for bit.
  std::string splat(double value, const TensorType& type);
  std::string constant(const HostTensor& value);
  /// Element type and shape changes that families need between their own lines.
  std::string convert(const std::string& value, const TensorType& from, DType to);
  std::string reshape(const std::string& value, const TensorType& from, const Shape& to);
  std::string broadcast(const std::string& value, const TensorType& from, const Shape& to,
                        const Dims& dimensions);

  /// Emits what `build` makes of the node's operands in their place: simpler ops.
  using BuildFn = std::function<std::vector<Value>(Builder&, std::span<const Value>)>;
  void emit_as(const Node& node, const BuildFn& build);

  void emit_nodes();  // of graph()
  const std::string& body() const { return body_; }

 private:
  struct Scope {
    const Graph* graph;
    std::vector<std::string> names;  // of each value; empty: not emitted yet
  };
  static Scope scope_of(const Graph& graph) {
    return {&graph, std::vector<std::string>(static_cast<size_t>(graph.value_count()))};
  }

  std::vector<Scope> scopes_;
  std::string body_;
  int next_ = 0;
};

// One a row of the op table: a missing one is a link error that names the op.
#define OP(Id, mnemonic, operands, traits, summary) \
  void emit_##Id(Emitter& emitter, const Node& node);
#include "lockstep/ir/ops.def"
#undef OP

/// The op's own decomposition into simpler ones.
void emit_decomposed(Emitter& emitter, const Node& node);
#define EMIT_DECOMPOSED(Id)                            \
  void emit_##Id(Emitter& emitter, const Node& node) { \
    emit_decomposed(emitter, node);                    \
  }

}  // namespace lockstep
