#include <map>

#include "lockstep/passes/pass.h"

namespace lockstep {
namespace {

/// Cuts a graph at its tower_sum nodes. A node's level is the number of exchanges before it.
class Cutter {
 public:
  explicit Cutter(const Graph& graph) : graph_(graph) {
    levels_.resize(graph.nodes().size(), 0);
    int last = 0;
    for (const Node& node : graph.nodes()) {
      int level = 0;
      for (int operand : node.operands) {
        const Node& producer = graph.producer(operand);
        level = std::max(level, level_of(producer) + (producer.opcode == Opcode::kTowerSum));
      }
      levels_[static_cast<size_t>(node.id)] = level;
      if (!has_trait(node.opcode, kLeaf)) last = std::max(last, level + (node.opcode == Opcode::kTowerSum));
    }
    states_.resize(static_cast<size_t>(last) + 1);
    program_.segments.resize(states_.size());
    for (Segment& segment : program_.segments) segment.graph = std::make_unique<Graph>();
  }

  SegmentedProgram run() {
    for (const Node& node : graph_.nodes()) {
      if (has_trait(node.opcode, kLeaf)) continue;  // copied into segments as they are used
      if (node.opcode == Opcode::kTowerSum)
        add_exchange(node);
      else
        copy(node, level_of(node));
    }
    // Every result comes from the last segment that computes or passes it on.
    for (size_t i = 0; i < graph_.results().size(); ++i) {
      const int value = graph_.results()[i];
      const Node& producer = graph_.producer(value);
      const bool is_sum = producer.opcode == Opcode::kTowerSum;
      const int level = is_sum || has_trait(producer.opcode, kLeaf) ? static_cast<int>(states_.size()) - 1 : level_of(producer);
      add_output(level, local(value, level), {Segment::Target::kResult, static_cast<int>(i)});
    }
    return std::move(program_);
  }

 private:
  struct State {
    std::map<int, int> local;  // value of the whole graph -> value of the segment's graph
  };

  int level_of(const Node& node) const { return levels_[static_cast<size_t>(node.id)]; }
  Segment& segment(int level) { return program_.segments[static_cast<size_t>(level)]; }
  State& state(int level) { return states_[static_cast<size_t>(level)]; }

  void copy(const Node& node, int level) {
    std::vector<int> operands;
    for (int operand : node.operands) operands.push_back(local(operand, level));
    const Node& copied = segment(level).graph->append(node.opcode, std::move(operands), node.attrs, node.context);
    for (size_t i = 0; i < node.results.size(); ++i) state(level).local[node.results[i]] = copied.results[i];
  }

  void add_output(int level, int local_value, Segment::Output output) {
    segment(level).graph->add_result({segment(level).graph.get(), local_value});
    segment(level).outputs.push_back(output);
  }

  int add_parameter(int level, const TensorType& type, const std::string& name, ParameterRole role, Segment::Input input) {
    Segment& s = segment(level);
    const int index = static_cast<int>(s.graph->parameters().size());
    s.inputs.push_back(input);
    return s.graph->append(Opcode::kParameter, {}, ParameterAttrs{index, name, role, type}, "").results[0];
  }

  void add_exchange(const Node& node) {
    const int level = level_of(node), slot = static_cast<int>(program_.exchanged_types.size());
    program_.exchanged_types.push_back(graph_.type(node.results[0]));
    exchange_slots_[node.results[0]] = slot;
    add_output(level, local(node.operands[0], level), {Segment::Target::kExchange, slot});
  }

  /// The segment's value for a value of the whole graph; brought in from outside at its first use.
  int local(int value, int level) {
    const auto it = state(level).local.find(value);
    if (it != state(level).local.end()) return it->second;
    const Node& producer = graph_.producer(value);
    const TensorType& type = graph_.type(value);
    int result;
    if (producer.opcode == Opcode::kParameter) {
      const auto& parameter = producer.as<ParameterAttrs>();
      result = add_parameter(level, type, parameter.name, parameter.role, {Segment::Source::kParameter, parameter.index});
    } else if (has_trait(producer.opcode, kLeaf)) {
      copy(producer, level);
      return state(level).local.at(value);
    } else if (producer.opcode == Opcode::kTowerSum) {
      result = add_parameter(level, type, "exchanged", ParameterRole::kScalar, {Segment::Source::kExchanged, exchange_slots_.at(value)});
    } else {
      LOCKSTEP_CHECK(level_of(producer) < level);
      result = add_parameter(level, type, "kept", ParameterRole::kData, {Segment::Source::kValue, value_slot(value, level_of(producer))});
    }
    return state(level).local[value] = result;
  }

  int value_slot(int value, int producing_level) {
    const auto [it, is_new] = value_slots_.try_emplace(value, static_cast<int>(program_.value_types.size()));
    if (is_new) {
      program_.value_types.push_back(graph_.type(value));
      add_output(producing_level, local(value, producing_level), {Segment::Target::kValue, it->second});
    }
    return it->second;
  }

  const Graph& graph_;
  std::vector<int> levels_;
  std::vector<State> states_;
  std::map<int, int> value_slots_, exchange_slots_;
  SegmentedProgram program_;
};

}  // namespace

SegmentedProgram cut_segments(const Graph& graph) { return Cutter(graph).run(); }

}  // namespace lockstep
