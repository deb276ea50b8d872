#include "lockstep/train/compile_tower.h"

#include <map>

#include "lockstep/ir/flops.h"
#include "lockstep/passes/pass.h"

namespace lockstep {
namespace {

TowerInput tower_input(const Segment::Input& input, const TowerGraph& tower) {
  switch (input.source) {
    case Segment::Source::kParameter:
      return tower.inputs[static_cast<size_t>(input.index)];
    case Segment::Source::kValue:
      return {TowerInput::Source::kValue, input.index};
    case Segment::Source::kExchanged:
      return {TowerInput::Source::kExchanged, input.index};
  }
  check_failed("a known source", __FILE__, __LINE__);
}

TowerOutput tower_output(const Segment::Output& output, const TowerGraph& tower) {
  switch (output.target) {
    case Segment::Target::kResult:
      return tower.outputs[static_cast<size_t>(output.index)];
    case Segment::Target::kValue:
      return {TowerOutput::Target::kValue, output.index};
    case Segment::Target::kExchange:
      return {TowerOutput::Target::kExchange, output.index};
  }
  check_failed("a known target", __FILE__, __LINE__);
}

/// Segments of a simplified tower; `compile` fills in the program of each.
template <class Compile>
std::shared_ptr<TowerProgram> compile_segments(const TowerGraph& tower, int64_t rows,
                                               const std::string& name, Compile&& compile) {
  const std::unique_ptr<Graph> graph = simplify(*tower.graph);
  SegmentedProgram segmented = cut_segments(*graph);
  auto program = std::make_shared<TowerProgram>();
  program->rows = rows;
  program->value_types = segmented.value_types;
  program->exchanged_types = segmented.exchanged_types;
  for (const Segment& segment : segmented.segments) {
    SegmentPlan plan;
    compile(plan, *segment.graph,
            CompileOptions{
                fmt::format("{}, {} rows, segment {}", name, rows, program->segments.size())});
    for (const Segment::Input& input : segment.inputs)
      plan.inputs.push_back(tower_input(input, tower));
    for (const Segment::Output& output : segment.outputs)
      plan.outputs.push_back(tower_output(output, tower));
    for (int parameter : segment.graph->parameters())
      plan.input_types.push_back(segment.graph->type(parameter));
    plan.flops = contraction_flops(*segment.graph);
    program->segments.push_back(std::move(plan));
  }
  return program;
}

Value flat(Builder& b, Value value) {
  return b.reshape(value, {value.shape().size()});
}

/// A tower whose sums are packed: the results of `tower.graph` are rewritten.
void pack_sums(TowerGraph& tower, const StepPlan& step) {
  Builder b(*tower.graph);
  b.set_context("sums");
  std::map<int64_t, Value> sums;  // by offset
  std::vector<std::pair<Value, TowerOutput>> results;
  for (size_t i = 0; i < tower.outputs.size(); ++i) {
    const Value value{tower.graph.get(), tower.graph->results()[i]};
    if (tower.outputs[i].target == TowerOutput::Target::kSum)
      sums[tower.outputs[i].index] = flat(b, value);
    else
      results.emplace_back(value, tower.outputs[i]);
  }
  const TowerOutput sum{TowerOutput::Target::kSum, 0};
  for (const SumPiece& piece : step.pieces) {
    // The variable whose gradient the piece is part of; without one nothing flows.
    const auto after = sums.upper_bound(piece.offset);
    Value part = b.constant(0.0, {DType::kF32, {piece.size}});
    if (after != sums.begin()) {
      const auto& [offset, gradient] = *std::prev(after);
      const int64_t begin = piece.offset - offset;
      if (begin + piece.size <= gradient.shape().size())
        part = b.slice(gradient, {begin}, {begin + piece.size}, {1});
    }
    results.emplace_back(part, sum);
  }
  std::vector<Value> tail;
  int64_t end = step.gradients_size;
  const auto fill_to = [&](int64_t offset) {
    if (offset > end) tail.push_back(b.constant(0.0, {DType::kF32, {offset - end}}));
  };
  for (auto at = sums.lower_bound(step.gradients_size); at != sums.end(); ++at) {
    fill_to(at->first);
    tail.push_back(at->second);
    end = at->first + at->second.shape().size();
  }
  fill_to(step.sums_size);
  if (!tail.empty()) results.emplace_back(b.concatenate(tail, 0), sum);
  std::vector<int> values;
  tower.outputs.clear();
  for (const auto& [value, output] : results) {
    values.push_back(value.id);
    tower.outputs.push_back(output);
  }
  tower.graph->set_results(std::move(values));
}

}  // namespace

std::shared_ptr<TowerProgram> compile_tower(const Backend& backend, const TowerGraph& tower,
                                            int64_t rows, const std::string& name) {
  return compile_segments(
      tower, rows, name, [&](SegmentPlan& plan, const Graph& graph, const CompileOptions& options) {
        plan.executable = backend.compile(graph, options);
      });
}

std::shared_ptr<TowerProgram> compile_resident_tower(const DeviceMemory& memory, TowerGraph tower,
                                                     const StepPlan& step, int64_t rows,
                                                     const std::string& name) {
  pack_sums(tower, step);
  return compile_segments(
      tower, rows, name, [&](SegmentPlan& plan, const Graph& graph, const CompileOptions& options) {
        plan.device_program = memory.compile_resident(graph, options, {});
      });
}

}  // namespace lockstep
