// What the suites of op conformance share: every op of the table with every sample, as a graph of
// one node, and comparison with its own meaning (eval) in f64.
#pragma once

#include <gtest/gtest.h>

#include <algorithm>
#include <cctype>
#include <cmath>

#include "lockstep/autodiff/vjp.h"
#include "lockstep/backend/backend.h"
#include "lockstep/backend/reference/reference_backend.h"
#include "lockstep/ir/builder.h"
#include "lockstep/tensor/philox.h"

namespace lockstep::conformance {

struct Case {
  const OpDef* def = nullptr;
  OpSample sample;
  const OpRules& rules() const { return def->rules(); }
  std::string name() const { return std::string(def->mnemonic) + "__" + sample.name; }
};

inline void PrintTo(const Case& c, std::ostream* os) {
  *os << c.name();
}

template <class Predicate>
std::vector<Case> cases_where(Predicate holds) {
  std::vector<Case> cases;
  for (const OpDef& def : all_ops())
    for (OpSample& sample : def.rules().samples()) {
      Case c{&def, std::move(sample)};
      if (holds(c)) cases.push_back(std::move(c));
    }
  return cases;
}

template <class Param>
std::string param_name(const testing::TestParamInfo<Param>& info) {
  std::string name = info.param.name();
  for (char& c : name)
    if (!std::isalnum(static_cast<unsigned char>(c))) c = '_';
  return name;
}

inline DType as_dtype(DType dtype, DType wanted) {
  return is_float(dtype) ? wanted : dtype;
}

inline Attrs with_dtype(Attrs attrs, DType wanted) {
  if (auto* constant = std::get_if<ConstantAttrs>(&attrs)) {
    constant->type.dtype = as_dtype(constant->type.dtype, wanted);
    constant->value = constant->value.as(constant->type.dtype);
  } else if (auto* iota = std::get_if<IotaAttrs>(&attrs)) {
    iota->type.dtype = as_dtype(iota->type.dtype, wanted);
  } else if (auto* convert = std::get_if<ConvertAttrs>(&attrs)) {
    convert->dtype = as_dtype(convert->dtype, wanted);
  }
  return attrs;
}

/// The graph of one node over parameters, floats as `wanted`.
struct OneNode {
  Graph graph;
  std::vector<HostTensor> inputs;
  std::vector<Value> operands, results;

  OneNode(const Case& c, DType wanted) {
    Builder builder(graph);
    for (const HostTensor& operand : c.sample.operands) {
      inputs.push_back(operand.as(as_dtype(operand.dtype(), wanted)));
      operands.push_back(builder.parameter(inputs.back().type(), "x"));
    }
    results = builder.append(c.def->opcode, operands, with_dtype(c.sample.attrs, wanted));
    for (const Value& result : results) graph.add_result(result);
  }
};

/// |got - want| <= tolerance * (1 + |want|), infinities and NaN at the same places.
inline bool is_near(double got, double want, double tolerance) {
  if (got == want || (std::isnan(got) && std::isnan(want))) return true;
  // Beyond f32's range an f64 meaning may stay finite where f32 may not.
  const bool overflows = std::isinf(got) && std::abs(want) > 3.4e38;
  if (overflows) return std::signbit(got) == std::signbit(want);
  return std::abs(got - want) <= tolerance * (1 + std::abs(want));
}

inline void expect_near(const HostTensor& got, const HostTensor& want, double tolerance,
                        const std::string& what) {
  ASSERT_EQ(got.shape(), want.shape()) << what;
  const HostTensor a = got.as(DType::kF64), b = want.as(DType::kF64);
  for (size_t i = 0; i < static_cast<size_t>(a.size()); ++i) {
    const double x = a.data<double>()[i], y = b.data<double>()[i];
    ASSERT_TRUE(is_near(x, y, tolerance)) << what << " element " << i << ": " << x << " for " << y;
  }
}

inline std::string result_name(size_t i) {
  return "result " + std::to_string(i);
}

inline std::vector<HostTensor> random_cotangents(const OneNode& node) {
  std::vector<HostTensor> cotangents;
  PhiloxStream stream(philox_key(1, RandomPurpose::kInit, "cotangent"));
  for (const Value& result : node.results) {
    HostTensor& cotangent = cotangents.emplace_back(result.type());
    if (!is_float(result.dtype())) continue;
    for (double& value : cotangent.data<double>()) value = stream.uniform() - 0.5;
  }
  return cotangents;
}

/// Puts the op's gradient rule in place of its results: one result an operand, zeros where the rule
/// says that nothing flows.
inline void replace_by_gradient(OneNode& node, const std::vector<HostTensor>& cotangents) {
  Builder builder(node.graph);
  std::vector<std::pair<Value, Value>> seeds;
  for (size_t i = 0; i < node.results.size(); ++i)
    if (is_float(node.results[i].dtype()))
      seeds.emplace_back(node.results[i],
                         builder.constant(cotangents[i].as(node.results[i].dtype())));
  std::vector<Value> grads = gradients(builder, seeds, node.operands);
  std::vector<int> results;
  for (size_t i = 0; i < grads.size(); ++i) {
    if (!grads[i].valid()) grads[i] = builder.like(node.operands[i], 0.0);
    results.push_back(grads[i].id);
  }
  node.graph.set_results(results);
}

/// Runs a graph twice on device 0 of a backend and compares each result with `want`: the second run
/// finds working memory as the first left it.
inline void expect_results(const Backend& backend, const Graph& graph,
                           const std::vector<HostTensor>& graph_inputs,
                           const std::vector<HostTensor>& want, double tolerance) {
  const auto executable = backend.compile(graph, {"conformance"});
  const auto context = executable->create_context(0);
  std::vector<const void*> inputs;
  for (const HostTensor& input : graph_inputs) inputs.push_back(input.bytes());
  for (int task = 0; task < executable->prologue_task_count(); ++task)
    executable->run_prologue_task(task, *context, inputs);
  for (int repeat = 0; repeat < 2; ++repeat) {
    std::vector<HostTensor> results;
    std::vector<void*> outputs;
    for (int result : graph.results())
      outputs.push_back(results.emplace_back(graph.type(result)).bytes());
    executable->run(*context, inputs, outputs);
    ASSERT_EQ(results.size(), want.size());
    for (size_t i = 0; i < results.size(); ++i)
      expect_near(results[i], want[i], is_float(results[i].dtype()) ? tolerance : 0,
                  result_name(i));
  }
}

}  // namespace lockstep::conformance
