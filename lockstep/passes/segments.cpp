#include <algorithm>
#include <unordered_map>

#include "lockstep/passes/pass.h"

namespace lockstep {
namespace {

/// Cheaper to do again in a later segment than to keep its result across the cut: a leaf is there
/// anyway, and what a broadcast or reshape reads is never larger than what it makes.
bool is_repeated(const Node& node) {
  return has_trait(node.opcode, kLeaf) || node.opcode == Opcode::kBroadcastInDim ||
         node.opcode == Opcode::kReshape;
}

/// Cuts a graph at its tower_sum nodes. A node's level is the number of exchanges before it.
class Cutter {
 public:
  explicit Cutter(const Graph& graph) : graph_(graph) {
    int last = 0;
    for (const Node& node : graph.nodes()) {
      int level = 0;
      for (int operand : node.operands) level = std::max(level, first_level(operand));
      levels_.push_back(level);
      for (int result : node.results) last = std::max(last, first_level(result));
    }
    locals_.resize(static_cast<size_t>(last) + 1);
    program_.segments.resize(locals_.size());
    for (Segment& segment : program_.segments) segment.graph = std::make_unique<Graph>();
  }

  SegmentedProgram run() {
    for (const Node& node : graph_.nodes()) {
      if (is_repeated(node)) continue;  // copied into segments as they use it
      if (node.opcode == Opcode::kTowerSum)
        add_exchange(node);
      else
        copy(node, level_of(node));
    }
    for (size_t i = 0; i < graph_.results().size(); ++i) add_program_result(static_cast<int>(i));
    return std::move(program_);
  }

 private:
  int level_of(const Node& node) const { return levels_[static_cast<size_t>(node.id)]; }

  /// The first segment that may use a value.
  int first_level(int value) const {
    const Node& producer = graph_.producer(value);
    return level_of(producer) + (producer.opcode == Opcode::kTowerSum ? 1 : 0);
  }

  Segment& segment(int level) { return program_.segments[static_cast<size_t>(level)]; }
  std::unordered_map<int, int>& locals(int level) { return locals_[static_cast<size_t>(level)]; }

  void copy(const Node& node, int level) {
    std::vector<int> operands;
    for (int operand : node.operands) operands.push_back(local(operand, level));
    const Node& copied =
        segment(level).graph->append(node.opcode, std::move(operands), node.attrs, node.context);
    for (size_t i = 0; i < node.results.size(); ++i)
      locals(level)[node.results[i]] = copied.results[i];
  }

  /// The segment's value for a value of the whole graph; brought in at its first use.
  int local(int value, int level) {
    const auto found = locals(level).find(value);
    if (found != locals(level).end()) return found->second;
    const Node& producer = graph_.producer(value);
    if (is_repeated(producer) && producer.opcode != Opcode::kParameter)
      copy(producer, level);
    else
      locals(level)[value] = add_input(value, producer, level);
    return locals(level).at(value);
  }

  int add_input(int value, const Node& producer, int level) {
    if (producer.opcode == Opcode::kParameter) {
      const auto& from = producer.as<ParameterAttrs>();
      return add_parameter(level, {Segment::Source::kParameter, from.index}, from);
    }
    LOCKSTEP_CHECK(first_level(value) <= level);
    const TensorType& type = graph_.type(value);
    if (producer.opcode == Opcode::kTowerSum)
      return add_parameter(level, {Segment::Source::kExchanged, exchange_slots_.at(value)},
                           {0, "exchanged", ParameterRole::kScalar, type});
    LOCKSTEP_CHECK(level_of(producer) < level);
    return add_parameter(level, {Segment::Source::kValue, value_slot(value, level_of(producer))},
                         {0, "kept", ParameterRole::kData, type});
  }

  int add_parameter(int level, Segment::Input input, ParameterAttrs attrs) {
    Segment& to = segment(level);
    attrs.index = static_cast<int>(to.inputs.size());
    to.inputs.push_back(input);
    return to.graph->append(Opcode::kParameter, {}, std::move(attrs), "").results[0];
  }

  int value_slot(int value, int level) {
    const int next = static_cast<int>(program_.value_types.size());
    const auto [slot, is_new] = value_slots_.try_emplace(value, next);
    if (is_new) {
      program_.value_types.push_back(graph_.type(value));
      add_output(value, level, {Segment::Target::kValue, next});
    }
    return slot->second;
  }

  void add_exchange(const Node& node) {
    const int slot = static_cast<int>(program_.exchanged_types.size());
    program_.exchanged_types.push_back(graph_.type(node.results[0]));
    exchange_slots_[node.results[0]] = slot;
    add_output(node.operands[0], level_of(node), {Segment::Target::kExchange, slot});
  }

  /// All from the last segment: a tower's sums are in one place only then.
  void add_program_result(int position) {
    const int last = static_cast<int>(program_.segments.size()) - 1;
    add_output(graph_.results()[static_cast<size_t>(position)], last,
               {Segment::Target::kResult, position});
  }

  void add_output(int value, int level, Segment::Output output) {
    Segment& to = segment(level);
    to.graph->add_result({to.graph.get(), local(value, level)});
    to.outputs.push_back(output);
  }

  const Graph& graph_;
  std::vector<int> levels_;                           // by node
  std::vector<std::unordered_map<int, int>> locals_;  // by segment: value -> value of its graph
  std::unordered_map<int, int> value_slots_, exchange_slots_;  // by value
  SegmentedProgram program_;
};

}  // namespace

SegmentedProgram cut_segments(const Graph& graph) {
  return Cutter(graph).run();
}

}  // namespace lockstep
