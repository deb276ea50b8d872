// Every op of the table, every sample: shape rule, decomposition, gradient and each backend,
// against the op's own meaning (eval) in f64. One test a facet, op and sample (and backend).
#include "lockstep/backend/onednn/onednn_backend.h"
#include "tests/op_conformance/conformance.h"

namespace lockstep {
namespace {

using namespace conformance;

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

TEST_P(Gradient, EqualsCentralDifferences) {
  const Case& c = GetParam();
  const OneNode node(c, DType::kF64);
  const std::vector<HostTensor> cotangents = random_cotangents(node);
  OneNode gradient(c, DType::kF64);
  replace_by_gradient(gradient, cotangents);
  const std::vector<HostTensor> got = evaluate(gradient.graph, gradient.inputs);
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
  expect_results(*c.backend.make(), f32.graph, f32.inputs, want, c.sample.tolerance);
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
