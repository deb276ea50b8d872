// Ops that move elements without arithmetic.
#include "lockstep/backend/stablehlo/emitter.h"

namespace lockstep {

void emit_Reshape(Emitter& e, const Node& node) {
  e.set_name(node.results[0], e.reshape(e.name(node.operands[0]), e.type(node.operands[0]),
                                        node.as<ReshapeAttrs>().shape));
}

void emit_Transpose(Emitter& e, const Node& node) {
  e.define(node, "stablehlo.transpose {}, dims = {} : ({}) -> {}", e.name(node.operands[0]),
           mlir_list(node.as<TransposeAttrs>().permutation), e.tensor(node.operands[0]),
           e.tensor(node.results[0]));
}

void emit_BroadcastInDim(Emitter& e, const Node& node) {
  const auto& a = node.as<BroadcastAttrs>();
  e.set_name(node.results[0], e.broadcast(e.name(node.operands[0]), e.type(node.operands[0]),
                                          a.shape, a.dimensions));
}

void emit_Slice(Emitter& e, const Node& node) {
  const auto& a = node.as<SliceAttrs>();
  std::vector<std::string> ranges;
  for (size_t i = 0; i < a.start.size(); ++i)
    ranges.push_back(fmt::format("{}:{}:{}", a.start[i], a.limit[i], a.strides[i]));
  e.define(node, "stablehlo.slice {} [{}] : ({}) -> {}", e.name(node.operands[0]),
           fmt::join(ranges, ", "), e.tensor(node.operands[0]), e.tensor(node.results[0]));
}

void emit_Pad(Emitter& e, const Node& node) {
  const auto& a = node.as<PadAttrs>();
  e.define(node, "stablehlo.pad {}, {}, low = {}, high = {}, interior = {} : ({}, {}) -> {}",
           e.name(node.operands[0]), e.name(node.operands[1]), mlir_list(a.low), mlir_list(a.high),
           mlir_list(a.interior), e.tensor(node.operands[0]), e.tensor(node.operands[1]),
           e.tensor(node.results[0]));
}

void emit_Concatenate(Emitter& e, const Node& node) {
  std::vector<std::string> operands, types;
  for (int operand : node.operands) {
    operands.push_back(e.name(operand));
    types.push_back(e.tensor(operand));
  }
  e.define(node, "stablehlo.concatenate {}, dim = {} : ({}) -> {}", fmt::join(operands, ", "),
           node.as<AxisAttrs>().axis, fmt::join(types, ", "), e.tensor(node.results[0]));
}

void emit_Reverse(Emitter& e, const Node& node) {
  e.define(node, "stablehlo.reverse {}, dims = {} : {}", e.name(node.operands[0]),
           mlir_list(node.as<AxesAttrs>().axes), e.tensor(node.results[0]));
}

}  // namespace lockstep
