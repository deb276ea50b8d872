#include "lockstep/ir/flops.h"

namespace lockstep {

double contraction_flops(const Graph& graph, const Node& node) {
  const auto size = [&](int value) { return static_cast<double>(graph.type(value).size()); };
  // Convolutions: output pixels times kernel elements; the output is the result, an operand, or
  // the cotangent.
  const auto convolution = [&](int y, int kernel) {
    return 2 * size(y) / static_cast<double>(graph.type(y).shape.back()) * size(kernel);
  };
  switch (node.opcode) {
    case Opcode::kConv2d:
      return convolution(node.results[0], node.operands[1]);
    case Opcode::kConv2dInputGradient:
      return convolution(node.operands[0], node.operands[1]);
    case Opcode::kConv2dKernelGradient:
      return convolution(node.operands[1], node.results[0]);
    case Opcode::kDotGeneral: {
      double k = 1;
      for (int64_t axis : node.as<DotAttrs>().lhs_contracting)
        k *= static_cast<double>(graph.type(node.operands[0]).shape[static_cast<int>(axis)]);
      return 2 * size(node.results[0]) * k;
    }
    default:
      return 0;
  }
}

double contraction_flops(const Graph& graph) {
  double flops = 0;
  for (const Node& node : graph.nodes()) flops += contraction_flops(graph, node);
  return flops;
}

}  // namespace lockstep
