// Elementwise ops: most carry StableHLO's own names.
#include "lockstep/backend/stablehlo/emitter.h"

namespace lockstep {
namespace {

/// `%r = stablehlo.<mnemonic> operands : type`, all of one type.
void emit_same_type(Emitter& e, const Node& node) {
  std::vector<std::string> operands;
  for (int operand : node.operands) operands.push_back(e.name(operand));
  e.define(node, "stablehlo.{} {} : {}", op_def(node.opcode).mnemonic, fmt::join(operands, ", "),
           e.tensor(node.results[0]));
}

std::string_view direction_name(CompareDirection direction) {
  switch (direction) {
    case CompareDirection::kEq:
      return "EQ";
    case CompareDirection::kNe:
      return "NE";
    case CompareDirection::kLt:
      return "LT";
    case CompareDirection::kLe:
      return "LE";
    case CompareDirection::kGt:
      return "GT";
    case CompareDirection::kGe:
      return "GE";
  }
  return "";
}

}  // namespace

#define EMIT_SAME_TYPE(Id)                       \
  void emit_##Id(Emitter& e, const Node& node) { \
    emit_same_type(e, node);                     \
  }
EMIT_SAME_TYPE(Abs)
EMIT_SAME_TYPE(Negate)
EMIT_SAME_TYPE(Sign)
EMIT_SAME_TYPE(Floor)
EMIT_SAME_TYPE(RoundNearestEven)
EMIT_SAME_TYPE(Exponential)
EMIT_SAME_TYPE(ExponentialMinusOne)
EMIT_SAME_TYPE(Log)
EMIT_SAME_TYPE(LogPlusOne)
EMIT_SAME_TYPE(Logistic)
EMIT_SAME_TYPE(Tanh)
EMIT_SAME_TYPE(Sqrt)
EMIT_SAME_TYPE(Sine)
EMIT_SAME_TYPE(Cosine)
EMIT_SAME_TYPE(Not)
EMIT_SAME_TYPE(Add)
EMIT_SAME_TYPE(Subtract)
EMIT_SAME_TYPE(Multiply)
EMIT_SAME_TYPE(Divide)
EMIT_SAME_TYPE(Maximum)
EMIT_SAME_TYPE(Minimum)
EMIT_SAME_TYPE(Power)
EMIT_SAME_TYPE(Remainder)
EMIT_SAME_TYPE(And)
EMIT_SAME_TYPE(Or)
#undef EMIT_SAME_TYPE

EMIT_DECOMPOSED(Relu)
EMIT_DECOMPOSED(ReluGradient)
EMIT_DECOMPOSED(Elu)
EMIT_DECOMPOSED(EluGradient)

void emit_Erf(Emitter& e, const Node& node) {
  e.define(node, "chlo.erf {0} : {1} -> {1}", e.name(node.operands[0]), e.tensor(node.operands[0]));
}

/// As the op is defined. A compiler may make one instruction of it all the same.
void emit_Rsqrt(Emitter& e, const Node& node) {
  e.emit_as(node, [](Builder& b, std::span<const Value> in) -> std::vector<Value> {
    return {b.divide(1.0, b.sqrt(in[0]))};
  });
}

void emit_IsFinite(Emitter& e, const Node& node) {
  e.define(node, "stablehlo.is_finite {} : ({}) -> {}", e.name(node.operands[0]),
           e.tensor(node.operands[0]), e.tensor(node.results[0]));
}

void emit_Convert(Emitter& e, const Node& node) {
  e.set_name(node.results[0], e.convert(e.name(node.operands[0]), e.type(node.operands[0]),
                                        node.as<ConvertAttrs>().dtype));
}

void emit_Compare(Emitter& e, const Node& node) {
  const std::string type = e.tensor(node.operands[0]);
  e.define(node, "stablehlo.compare {}, {}, {}, {} : ({}, {}) -> {}",
           direction_name(node.as<CompareAttrs>().direction), e.name(node.operands[0]),
           e.name(node.operands[1]), comparison_kind(e.type(node.operands[0]).dtype), type, type,
           e.tensor(node.results[0]));
}

void emit_Select(Emitter& e, const Node& node) {
  e.define(node, "stablehlo.select {}, {}, {} : {}, {}", e.name(node.operands[0]),
           e.name(node.operands[1]), e.name(node.operands[2]), e.tensor(node.operands[0]),
           e.tensor(node.results[0]));
}

}  // namespace lockstep
