#include "lockstep/train/compile_tower.h"

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

}  // namespace

std::shared_ptr<TowerProgram> compile_tower(const Backend& backend, const TowerGraph& tower,
                                            int64_t rows, const std::string& name) {
  const std::unique_ptr<Graph> graph = simplify(*tower.graph);
  SegmentedProgram segmented = cut_segments(*graph);
  auto program = std::make_shared<TowerProgram>();
  program->rows = rows;
  program->value_types = segmented.value_types;
  program->exchanged_types = segmented.exchanged_types;
  for (const Segment& segment : segmented.segments) {
    SegmentPlan plan;
    plan.executable = backend.compile(
        *segment.graph,
        {fmt::format("{}, {} rows, segment {}", name, rows, program->segments.size())});
    for (const Segment::Input& input : segment.inputs)
      plan.inputs.push_back(tower_input(input, tower));
    for (const Segment::Output& output : segment.outputs)
      plan.outputs.push_back(tower_output(output, tower));
    program->segments.push_back(std::move(plan));
  }
  return program;
}

}  // namespace lockstep
