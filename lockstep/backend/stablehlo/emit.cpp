#include "lockstep/backend/stablehlo/emit.h"

#include <algorithm>
#include <cctype>
#include <cstring>

#include "lockstep/backend/stablehlo/emitter.h"

namespace lockstep {
namespace {

using EmitFn = void (*)(Emitter&, const Node&);
constexpr EmitFn kEmit[] = {
#define OP(Id, mnemonic, operands, traits, summary) emit_##Id,
#include "lockstep/ir/ops.def"
#undef OP
};

std::string identifier(std::string name) {
  for (char& c : name)
    if (std::isalnum(static_cast<unsigned char>(c)) == 0) c = '_';
  const bool begins_well = !name.empty() && std::isdigit(static_cast<unsigned char>(name[0])) == 0;
  return begins_well ? name : "_" + name;
}

/// The bytes of elements, as MLIR reads them: 0x and two digits a byte.
std::string hex(const std::byte* bytes, size_t count) {
  std::string text = "0x";
  for (size_t i = 0; i < count; ++i) text += fmt::format("{:02X}", static_cast<unsigned>(bytes[i]));
  return text;
}

/// One element as a literal that keeps every bit.
std::string element_literal(const HostTensor& scalar) {
  if (scalar.dtype() == DType::kBool) return scalar.data<bool>()[0] ? "true" : "false";
  if (!is_float(scalar.dtype())) {
    std::string text;
    dispatch(scalar.dtype(), [&]<class T>() { text = fmt::format("{}", +scalar.data<T>()[0]); });
    return text;
  }
  // A float's hexadecimal literal is its bits, the most significant first.
  std::vector<std::byte> bytes(scalar.bytes(), scalar.bytes() + scalar.size_bytes());
  std::reverse(bytes.begin(), bytes.end());
  return hex(bytes.data(), bytes.size());
}

}  // namespace

// -- text of types and attributes

std::string mlir_type(const TensorType& type) {
  std::string text = "tensor<";
  for (int64_t extent : type.shape) text += fmt::format("{}x", extent);
  return text + std::string(dtype_name(type.dtype)) + ">";
}

std::string_view comparison_kind(DType dtype) {
  switch (dtype) {
    case DType::kF32:
    case DType::kF64:
      return "FLOAT";
    case DType::kS32:
    case DType::kS64:
      return "SIGNED";
    default:
      return "UNSIGNED";
  }
}

std::string mlir_pairs(std::span<const std::pair<int64_t, int64_t>> pairs) {
  std::vector<std::string> rows;
  for (const auto& [low, high] : pairs) rows.push_back(fmt::format("[{}, {}]", low, high));
  return fmt::format("dense<[{}]> : tensor<{}x2xi64>", fmt::join(rows, ", "), rows.size());
}

// -- values

const std::string& Emitter::name(int value) const {
  const std::string& name = scopes_.back().names[static_cast<size_t>(value)];
  LOCKSTEP_CHECK(!name.empty());
  return name;
}

void Emitter::set_name(int value, std::string name) {
  scopes_.back().names[static_cast<size_t>(value)] = std::move(name);
}

std::string Emitter::let(const std::string& text) {
  std::string name = fmt::format("%{}", next_++);
  body_ += fmt::format("    {} = {}\n", name, text);
  return name;
}

std::string Emitter::let_many(const std::string& text, size_t count) {
  std::string name = fmt::format("%{}", next_++);
  body_ += fmt::format("    {}:{} = {}\n", name, count, text);
  return name;
}

std::string Emitter::splat(double value, const TensorType& type) {
  const HostTensor element = HostTensor::scalar(value).as(type.dtype);
  return let("stablehlo.constant dense<{}> : {}", element_literal(element), mlir_type(type));
}

std::string Emitter::constant(const HostTensor& value) {
  if (value.size() == 1)
    return let("stablehlo.constant dense<{}> : {}", element_literal(value),
               mlir_type(value.type()));
  // Raw bytes of i1 are packed by some parsers and not by others.
  if (value.dtype() == DType::kBool) {
    const HostTensor bytes = value.as(DType::kU8);
    return convert(constant(bytes), bytes.type(), DType::kBool);
  }
  const std::string elements = value.size() == 0 ? "" : hex(value.bytes(), value.size_bytes());
  return let("stablehlo.constant dense<{}> : {}", elements.empty() ? "" : "\"" + elements + "\"",
             mlir_type(value.type()));
}

std::string Emitter::convert(const std::string& value, const TensorType& from, DType to) {
  return let("stablehlo.convert {} : ({}) -> {}", value, mlir_type(from),
             mlir_type({to, from.shape}));
}

std::string Emitter::reshape(const std::string& value, const TensorType& from, const Shape& to) {
  if (from.shape == to) return value;
  return let("stablehlo.reshape {} : ({}) -> {}", value, mlir_type(from),
             mlir_type({from.dtype, to}));
}

std::string Emitter::broadcast(const std::string& value, const TensorType& from, const Shape& to,
                               const Dims& dimensions) {
  return let("stablehlo.broadcast_in_dim {}, dims = {} : ({}) -> {}", value, mlir_list(dimensions),
             mlir_type(from), mlir_type({from.dtype, to}));
}

// -- nodes

void Emitter::emit_as(const Node& node, const BuildFn& build) {
  Graph simpler;
  Builder builder(simpler);
  std::vector<Value> operands;
  std::vector<std::string> names;
  for (int operand : node.operands) {
    operands.push_back(builder.parameter(type(operand), "operand"));
    names.push_back(name(operand));
  }
  const std::vector<Value> results = build(builder, operands);
  LOCKSTEP_CHECK(results.size() == node.results.size());
  scopes_.push_back(scope_of(simpler));
  for (size_t i = 0; i < names.size(); ++i) set_name(operands[i].id, names[i]);
  emit_nodes();
  std::vector<std::string> made;
  for (const Value& result : results) made.push_back(name(result.id));
  scopes_.pop_back();
  for (size_t i = 0; i < made.size(); ++i) set_name(node.results[i], made[i]);
}

void Emitter::emit_nodes() {
  for (const Node& node : graph().nodes())
    if (node.opcode != Opcode::kParameter) kEmit[static_cast<size_t>(node.opcode)](*this, node);
}

void emit_decomposed(Emitter& emitter, const Node& node) {
  const DecomposeFn decompose = op_def(node.opcode).rules().decompose;
  LOCKSTEP_CHECK(decompose != nullptr);
  emitter.emit_as(node, [&](Builder& builder, std::span<const Value> operands) {
    return decompose(builder, node.attrs, operands);
  });
}

// -- leaves and what has no place in a device program

void emit_Parameter(Emitter&, const Node&) {
  check_failed("parameters are the function's own", __FILE__, __LINE__);
}

void emit_Constant(Emitter& emitter, const Node& node) {
  const auto& a = node.as<ConstantAttrs>();
  if (!a.is_splat()) return emitter.set_name(node.results[0], emitter.constant(a.value));
  emitter.define(node, "stablehlo.constant dense<{}> : {}", element_literal(a.value),
                 mlir_type(a.type));
}

void emit_Iota(Emitter& emitter, const Node& node) {
  const auto& a = node.as<IotaAttrs>();
  emitter.define(node, "stablehlo.iota dim = {} : {}", a.dimension, mlir_type(a.type));
}

void emit_TowerSum(Emitter&, const Node& node) {
  unsupported("stablehlo",
              "tower_sum lies between device programs, never inside one (layer \"{}\")",
              node.context);
}

// -- the module

std::string emit_stablehlo(const Graph& graph, const EmitOptions& options) {
  Emitter emitter(graph);
  std::vector<std::string> parameters, types, results;
  for (size_t i = 0; i < graph.parameters().size(); ++i) {
    const int value = graph.parameters()[i];
    emitter.set_name(value, fmt::format("%arg{}", i));
    std::string text = fmt::format("%arg{}: {}", i, emitter.tensor(value));
    for (const Donation& donation : options.donations)
      if (donation.input == static_cast<int>(i))
        text += fmt::format(" {{tf.aliasing_output = {} : i32}}", donation.result);
    parameters.push_back(std::move(text));
  }
  emitter.emit_nodes();
  for (int result : graph.results()) {
    types.push_back(emitter.tensor(result));
    results.push_back(emitter.name(result));
  }
  const std::string type_list = fmt::format("{}", fmt::join(types, ", "));
  std::string text = fmt::format("module @{} {{\n  func.func public @main({}) -> ({}) {{\n",
                                 identifier(options.name), fmt::join(parameters, ", "), type_list);
  text += emitter.body();
  text += results.empty()
              ? std::string("    return\n")
              : fmt::format("    return {} : {}\n", fmt::join(results, ", "), type_list);
  return text + "  }\n}\n";
}

}  // namespace lockstep
