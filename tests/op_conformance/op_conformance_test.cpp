// Every op of the table, every sample: shape rule, decomposition, gradient and each backend,
// against the op's own meaning (eval) in f64. One test a facet, op and sample (and backend).
#include <gtest/gtest.h>

#include <algorithm>
#include <cctype>
#include <cmath>

#include "lockstep/autodiff/vjp.h"
#include "lockstep/backend/onednn/onednn_backend.h"
#include "lockstep/backend/reference/reference_backend.h"
#include "lockstep/ir/builder.h"
#include "lockstep/tensor/philox.h"

namespace lockstep {
namespace {

struct Case {
  const OpDef* def = nullptr;
  OpSample sample;
  const OpRules& rules() const { return def->rules(); }
  std::string name() const { return std::string(def->mnemonic) + "__" + sample.name; }
};

void PrintTo(const Case& c, std::ostream* os) {
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

DType as_dtype(DType dtype, DType wanted) {
  return is_float(dtype) ? wanted : dtype;
}

Attrs with_dtype(Attrs attrs, DType wanted) {
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
bool is_near(double got, double want, double tolerance) {
  if (got == want || (std::isnan(got) && std::isnan(want))) return true;
  // Beyond f32's range an f64 meaning may stay finite where f32 may not.
  const bool overflows = std::isinf(got) && std::abs(want) > 3.4e38;
  if (overflows) return std::signbit(got) == std::signbit(want);
  return std::abs(got - want) <= tolerance * (1 + std::abs(want));
}

void expect_near(const HostTensor& got, const HostTensor& want, double tolerance,
                 const std::string& what) {
  ASSERT_EQ(got.shape(), want.shape()) << what;
  const HostTensor a = got.as(DType::kF64), b = want.as(DType::kF64);
  for (size_t i = 0; i < static_cast<size_t>(a.size()); ++i) {
    const double x = a.data<double>()[i], y = b.data<double>()[i];
    ASSERT_TRUE(is_near(x, y, tolerance)) << what << " element " << i << ": " << x << " for " << y;
  }
}

std::string result_name(size_t i) {
  return "result " + std::to_string(i);
}

// -- infer

using Inference = testing::TestWithParam<Case>;

TEST_P(Inference, NamesTheTypesThatEvalMakes) {
  for (DType dtype : {DType::kF32, DType::kF64}) {
    OneNode node(GetParam(), dtype);
    const auto results = evaluate(node.graph, node.inputs);
    for (size_t i = 0; i < results.size(); ++i)
      EXPECT_EQ(results[i].type().str(), node.results[i].type().str()) << result_name(i);
  }
}

INSTANTIATE_TEST_SUITE_P(Ops, Inference,
                         testing::ValuesIn(cases_where([](const Case&) { return true; })),
                         param_name<Case>);

// -- decompose

using Decomposition = testing::TestWithParam<Case>;

TEST_P(Decomposition, EqualsMeaning) {
  const Case& c = GetParam();
  OneNode whole(c, DType::kF64);
  Graph graph;
  Builder builder(graph);
  std::vector<Value> operands;
  for (const HostTensor& input : whole.inputs)
    operands.push_back(builder.parameter(input.type(), "x"));
  for (const Value& result : c.rules().decompose(builder, c.sample.attrs, operands))
    graph.add_result(result);
  const auto want = evaluate(whole.graph, whole.inputs), got = evaluate(graph, whole.inputs);
  ASSERT_EQ(got.size(), want.size());
  for (size_t i = 0; i < got.size(); ++i) expect_near(got[i], want[i], 1e-9, result_name(i));
}

INSTANTIATE_TEST_SUITE_P(Ops, Decomposition, testing::ValuesIn(cases_where([](const Case& c) {
                           return c.rules().decompose != nullptr;
                         })),
                         param_name<Case>);

// -- vjp

using Gradient = testing::TestWithParam<Case>;

/// <cotangents, results> as one number.
double objective(const Graph& graph, const std::vector<HostTensor>& inputs,
                 const std::vector<HostTensor>& cotangents) {
  const auto results = evaluate(graph, inputs);
  double sum = 0;
  for (size_t i = 0; i < results.size(); ++i) {
    if (!is_float(results[i].dtype())) continue;
    const auto y = results[i].data<double>(), dy = cotangents[i].data<double>();
    for (size_t j = 0; j < y.size(); ++j) sum += y[j] * dy[j];
  }
  return sum;
}

HostTensor central_differences(const OneNode& node, size_t operand,
                               const std::vector<HostTensor>& cotangents) {
  constexpr double kStep = 1e-6;
  std::vector<HostTensor> inputs = node.inputs;
  HostTensor slopes(inputs[operand].type());
  for (size_t j = 0; j < static_cast<size_t>(slopes.size()); ++j) {
    double& x = inputs[operand].data<double>()[j];
    const double middle = x;
    x = middle + kStep;
    const double above = objective(node.graph, inputs, cotangents);
    x = middle - kStep;
    const double below = objective(node.graph, inputs, cotangents);
    x = middle;
    slopes.data<double>()[j] = (above - below) / (2 * kStep);
  }
  return slopes;
}

std::vector<HostTensor> random_cotangents(const OneNode& node) {
  std::vector<HostTensor> cotangents;
  PhiloxStream stream(philox_key(1, RandomPurpose::kInit, "cotangent"));
  for (const Value& result : node.results) {
    HostTensor& cotangent = cotangents.emplace_back(result.type());
    if (!is_float(result.dtype())) continue;
    for (double& value : cotangent.data<double>()) value = stream.uniform() - 0.5;
  }
  return cotangents;
}

/// What the op's rule computes, one tensor an operand; zeros where it says that nothing flows.
std::vector<HostTensor> vjp_values(const Case& c, const std::vector<HostTensor>& cotangents) {
  OneNode node(c, DType::kF64);
  Builder builder(node.graph);
  std::vector<std::pair<Value, Value>> seeds;
  for (size_t i = 0; i < node.results.size(); ++i)
    if (is_float(node.results[i].dtype()))
      seeds.emplace_back(node.results[i], builder.constant(cotangents[i]));
  std::vector<Value> grads = gradients(builder, seeds, node.operands);
  std::vector<int> results;
  for (size_t i = 0; i < grads.size(); ++i) {
    if (!grads[i].valid()) grads[i] = builder.like(node.operands[i], 0.0);
    results.push_back(grads[i].id);
  }
  node.graph.set_results(results);
  return evaluate(node.graph, node.inputs);
}

TEST_P(Gradient, EqualsCentralDifferences) {
  const Case& c = GetParam();
  const OneNode node(c, DType::kF64);
  const std::vector<HostTensor> cotangents = random_cotangents(node);
  const std::vector<HostTensor> got = vjp_values(c, cotangents);
  for (size_t i = 0; i < got.size(); ++i)
    if (is_float(node.inputs[i].dtype()))
      // 1e-7: rounding of the quotient, 1e-16 / 1e-6 times the number of terms.
      expect_near(got[i], central_differences(node, i, cotangents), 1e-7,
                  "operand " + std::to_string(i));
}

INSTANTIATE_TEST_SUITE_P(Ops, Gradient, testing::ValuesIn(cases_where([](const Case& c) {
                           return c.rules().vjp != nullptr && c.sample.check_gradient &&
                                  !c.sample.operands.empty();
                         })),
                         param_name<Case>);

// -- backends

struct BackendRow {
  const char* name;
  std::unique_ptr<Backend> (*make)();
};
constexpr BackendRow kBackends[] = {{"reference", make_reference_backend},
                                    {"onednn", make_onednn_backend}};

struct BackendCase : Case {
  BackendRow backend;
  std::string name() const { return Case::name() + "__" + backend.name; }
};

void PrintTo(const BackendCase& c, std::ostream* os) {
  *os << c.name();
}

std::vector<BackendCase> backend_cases() {
  std::vector<BackendCase> cases;
  // Programs are cut at tower_sum before a backend sees them.
  for (const Case& c :
       cases_where([](const Case& c) { return c.def->opcode != Opcode::kTowerSum; }))
    for (const BackendRow& backend : kBackends) cases.push_back({c, backend});
  return cases;
}

using OnBackend = testing::TestWithParam<BackendCase>;

TEST_P(OnBackend, EqualsMeaning) {
  const BackendCase& c = GetParam();
  OneNode f32(c, DType::kF32), f64(c, DType::kF64);
  const auto want = evaluate(f64.graph, f64.inputs);
  const auto executable = c.backend.make()->compile(f32.graph, {c.name()});
  const auto context = executable->create_context();
  std::vector<const void*> inputs;
  for (const HostTensor& input : f32.inputs) inputs.push_back(input.bytes());
  for (int task = 0; task < executable->prologue_task_count(); ++task)
    executable->run_prologue_task(task, *context, inputs);
  // The second run finds working memory as the first left it.
  for (int repeat = 0; repeat < 2; ++repeat) {
    std::vector<HostTensor> results;
    std::vector<void*> outputs;
    for (const Value& result : f32.results)
      outputs.push_back(results.emplace_back(result.type()).bytes());
    executable->run(*context, inputs, outputs);
    for (size_t i = 0; i < results.size(); ++i)
      expect_near(results[i], want[i], is_float(results[i].dtype()) ? c.sample.tolerance : 0,
                  result_name(i));
  }
}

INSTANTIATE_TEST_SUITE_P(Ops, OnBackend, testing::ValuesIn(backend_cases()),
                         param_name<BackendCase>);

TEST(OpTable, EveryOpHasSamplesButTheParameter) {
  for (const OpDef& def : all_ops())
    if (def.opcode != Opcode::kParameter) {
      EXPECT_GE(def.rules().samples().size(), 2u) << def.mnemonic;
    }
}

TEST(OpTable, SamplesOfAnOpHaveDistinctNames) {
  for (const OpDef& def : all_ops()) {
    std::vector<std::string> names;
    for (const OpSample& sample : def.rules().samples()) names.push_back(sample.name);
    std::sort(names.begin(), names.end());
    EXPECT_EQ(std::adjacent_find(names.begin(), names.end()), names.end()) << def.mnemonic;
  }
}

TEST(OpTable, MnemonicsAreDistinct) {
  std::vector<std::string_view> names;
  for (const OpDef& def : all_ops()) names.push_back(def.mnemonic);
  std::sort(names.begin(), names.end());
  EXPECT_EQ(std::adjacent_find(names.begin(), names.end()), names.end());
}

}  // namespace
}  // namespace lockstep
