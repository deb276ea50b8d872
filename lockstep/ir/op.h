// What is known of an op: its row in ops.def and the rules of its family file.
#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "lockstep/ir/attrs.h"

namespace lockstep {

enum class Opcode : uint8_t {
#define OP(Id, mnemonic, operands, traits, summary) k##Id,
#include "lockstep/ir/ops.def"
#undef OP
};

enum OpTraits : uint32_t {
  kLeaf = 1 << 0,
  kElementwise = 1 << 1,  // result element i depends on operand elements i only
  kCommutative = 1 << 2,
  kMovement = 1 << 3,
  kReduction = 1 << 4,
  kContraction = 1 << 5,
  kWindow = 1 << 6,
  kRowwise = 1 << 7,
  kNormalization = 1 << 8,
  kRandom = 1 << 9,
  kExchange = 1 << 10,
};

class Builder;
struct Value;

/// Operand types and attributes -> result types. Throws InvalidArgument that names the op.
using InferFn = std::vector<TensorType> (*)(std::span<const TensorType> operands, const Attrs&);

/// Gradient in builder calls. `cotangents` holds one value a result, invalid where nothing flows;
/// returns one value an operand, invalid where nothing flows or the operand is not differentiable.
struct VjpArgs {
  Builder& builder;
  const Attrs& attrs;
  std::span<const Value> operands, results, cotangents;
};
using VjpFn = std::vector<Value> (*)(const VjpArgs&);

/// The meaning: plain loops, f32 and f64 (computed in the operands' own float type).
/// `results` come allocated and zero-filled.
using EvalFn = void (*)(std::span<const HostTensor* const> operands, const Attrs&,
                        std::span<HostTensor> results);

/// A small input for the conformance suite.
struct OpSample {
  std::string name;
  std::vector<HostTensor> operands;  // f32 (or integers); the suite converts floats to f64 itself
  Attrs attrs;
  double tolerance =
      1e-6;  // |got - want| <= tolerance * (1 + |want|), a backend against eval in f64
  bool check_gradient = true;  // false with its reason beside it: e.g. a kink at a sample value
};
using SamplesFn = std::vector<OpSample> (*)();

/// The same thing in simpler ops; composites only.
using DecomposeFn = std::vector<Value> (*)(Builder&, const Attrs&, std::span<const Value> operands);

/// vjp == nullptr says "not differentiable" (integer or i1 results, gradient ops' own gradients).
struct OpRules {
  InferFn infer;
  VjpFn vjp;
  EvalFn eval;
  SamplesFn samples;
  DecomposeFn decompose = nullptr;
};

struct OpDef {
  Opcode opcode;
  std::string_view id, mnemonic;
  int operand_count;  // -1: any number
  uint32_t traits;
  std::string_view summary;
  const OpRules& (*rules)();
};

const OpDef& op_def(Opcode opcode);
std::span<const OpDef> all_ops();
inline bool has_trait(Opcode opcode, uint32_t trait) {
  return op_def(opcode).traits & trait;
}

// A rule left out of every family file is a link error that names the op.
#define OP(Id, mnemonic, operands, traits, summary) const OpRules& Id##_rules();
#include "lockstep/ir/ops.def"
#undef OP

}  // namespace lockstep
