// A program in static single assignment: nodes in the order they were built, which is a valid order
// of execution. Built by Builder, walked by passes and backends.
#pragma once

#include <deque>
#include <string>
#include <vector>

#include "lockstep/ir/op.h"

namespace lockstep {

class Graph;

/// One result of one node. Cheap to copy; valid while its graph lives.
struct Value {
  Graph* graph = nullptr;
  int id = -1;

  bool valid() const { return graph != nullptr; }
  const TensorType& type() const;
  const Shape& shape() const { return type().shape; }
  DType dtype() const { return type().dtype; }
  bool operator==(const Value&) const = default;
};

struct Node {
  int id = 0;  // position in Graph::nodes()
  Opcode opcode = Opcode::kConstant;
  Attrs attrs;
  std::vector<int> operands;  // value ids
  std::vector<int> results;   // value ids
  std::string context;        // the layer it came from, for messages

  template <class T>
  const T& as() const {
    return std::get<T>(attrs);
  }
};

class Graph {
 public:
  Graph() = default;
  Graph(const Graph&) = delete;  // values point at their graph
  Graph& operator=(const Graph&) = delete;

  const std::deque<Node>& nodes() const { return nodes_; }
  const Node& node(int id) const { return nodes_[id]; }
  int value_count() const { return static_cast<int>(values_.size()); }
  const TensorType& type(int value) const { return values_[value].type; }
  /// The node that makes a value, and which of its results it is.
  const Node& producer(int value) const { return nodes_[values_[value].node]; }
  int result_index(int value) const { return values_[value].index; }

  /// Values of the parameters by position, and of the results in order.
  const std::vector<int>& parameters() const { return parameters_; }
  const std::vector<int>& results() const { return results_; }
  void set_results(std::vector<int> values) { results_ = std::move(values); }
  void add_result(Value value) { results_.push_back(value.id); }
  const ParameterAttrs& parameter(int position) const {
    return producer(parameters_[position]).as<ParameterAttrs>();
  }

  /// Number of uses of each value: as an operand, and as a result of the program.
  std::vector<int> use_counts() const;

  /// Checks operand count, runs the op's infer, appends. Throws with the context in the message.
  const Node& append(Opcode opcode, std::vector<int> operands, Attrs attrs, std::string context);

  /// Readable text, one node a line: `%3 = add %1, %2 : f32[2,3]  # dense_1`.
  std::string str() const;

 private:
  struct ValueInfo {
    int node, index;
    TensorType type;
  };
  std::deque<Node> nodes_;
  // A deque: types stay where they are while the graph grows, so references to them hold.
  std::deque<ValueInfo> values_;
  std::vector<int> parameters_, results_;
};

}  // namespace lockstep
