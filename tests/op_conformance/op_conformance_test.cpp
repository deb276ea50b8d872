// Every op of the table, every sample: shape rule, decomposition, gradient and each backend, against
// the op's own meaning (eval) in f64.
#include <gtest/gtest.h>

#include "lockstep/autodiff/vjp.h"
#include "lockstep/backend/onednn/onednn_backend.h"
#include "lockstep/backend/reference/reference_backend.h"
#include "lockstep/ir/builder.h"
#include "lockstep/tensor/philox.h"

namespace lockstep {
namespace {

struct Case {
  const OpDef* def;
  OpSample sample;
};

std::vector<Case> all_cases() {
  std::vector<Case> cases;
  for (const OpDef& def : all_ops())
    for (OpSample& sample : def.rules().samples()) cases.push_back({&def, std::move(sample)});
  return cases;
}

std::string case_name(const testing::TestParamInfo<Case>& info) {
  std::string name = std::string(info.param.def->mnemonic) + "__" + info.param.sample.name;
  for (char& c : name)
    if (!std::isalnum(static_cast<unsigned char>(c))) c = '_';
  return name;
}

DType as_dtype(DType dtype, DType wanted) { return is_float(dtype) ? wanted : dtype; }

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

void expect_near(const HostTensor& got, const HostTensor& want, double tolerance, const std::string& what) {
  ASSERT_EQ(got.shape(), want.shape()) << what;
  const HostTensor a = got.as(DType::kF64), b = want.as(DType::kF64);
  for (int64_t i = 0; i < a.size(); ++i) {
    const double x = a.data<double>()[static_cast<size_t>(i)], y = b.data<double>()[static_cast<size_t>(i)];
    if (x == y || (std::isnan(x) && std::isnan(y))) continue;
    // Beyond f32's range an f64 reference may stay finite or subnormal where f32 may not.
    if (std::isinf(x) && std::abs(y) > 3.4e38 && std::signbit(x) == std::signbit(y)) continue;
    ASSERT_LE(std::abs(x - y), tolerance * (1 + std::abs(y))) << what << " element " << i << ": " << x << " for " << y;
  }
}

class OpConformance : public testing::TestWithParam<Case> {};

TEST_P(OpConformance, Decomposition) {
  const Case& c = GetParam();
  if (c.def->rules().decompose == nullptr) return;
  OneNode whole(c, DType::kF64);
  Graph graph;
  Builder builder(graph);
  std::vector<Value> operands;
  for (const HostTensor& input : whole.inputs) operands.push_back(builder.parameter(input.type(), "x"));
  for (const Value& result : c.def->rules().decompose(builder, c.sample.attrs, operands)) graph.add_result(result);
  const auto want = evaluate(whole.graph, whole.inputs), got = evaluate(graph, whole.inputs);
  ASSERT_EQ(got.size(), want.size());
  for (size_t i = 0; i < got.size(); ++i) expect_near(got[i], want[i], 1e-9, "result " + std::to_string(i));
}

/// <cotangents, results> as one number.
double objective(const Case& c, const std::vector<HostTensor>& inputs, const std::vector<HostTensor>& cotangents) {
  OneNode node(c, DType::kF64);
  const auto results = evaluate(node.graph, inputs);
  double sum = 0;
  for (size_t i = 0; i < results.size(); ++i) {
    if (!is_float(results[i].dtype())) continue;
    for (size_t j = 0; j < static_cast<size_t>(results[i].size()); ++j)
      sum += results[i].data<double>()[j] * cotangents[i].data<double>()[j];
  }
  return sum;
}

TEST_P(OpConformance, GradientEqualsCentralDifferences) {
  const Case& c = GetParam();
  if (c.def->rules().vjp == nullptr || !c.sample.check_gradient) return;
  OneNode node(c, DType::kF64);
  Builder builder(node.graph);
  std::vector<HostTensor> cotangents;
  std::vector<std::pair<Value, Value>> seeds;
  PhiloxStream stream(philox_key(1, RandomPurpose::kInit, "cotangent"));
  for (const Value& result : node.results) {
    HostTensor& cotangent = cotangents.emplace_back(result.type());
    if (!is_float(result.dtype())) continue;
    for (double& value : cotangent.data<double>()) value = stream.uniform() - 0.5;
    seeds.emplace_back(result, builder.constant(cotangent));
  }
  if (seeds.empty()) return;
  const std::vector<Value> grads = gradients(builder, seeds, node.operands);
  std::vector<int> results;
  for (const Value& grad : grads)
    if (grad.valid()) results.push_back(grad.id);
  node.graph.set_results(results);
  const auto computed = evaluate(node.graph, node.inputs);
  size_t next = 0;
  for (size_t i = 0; i < grads.size(); ++i) {
    if (!is_float(node.inputs[i].dtype())) {
      EXPECT_FALSE(grads[i].valid());
      continue;
    }
    HostTensor want(DType::kF64, node.inputs[i].shape());
    constexpr double kStep = 1e-6;
    for (size_t j = 0; j < static_cast<size_t>(want.size()); ++j) {
      std::vector<HostTensor> inputs = node.inputs;
      double& x = inputs[i].data<double>()[j];
      const double middle = x;
      x = middle + kStep;
      const double above = objective(c, inputs, cotangents);
      x = middle - kStep;
      want.data<double>()[j] = (above - objective(c, inputs, cotangents)) / (2 * kStep);
    }
    const HostTensor zero(DType::kF64, want.shape());
    // 1e-7: rounding of the quotient, 1e-16 / 1e-6 times the number of terms.
    expect_near(grads[i].valid() ? computed[next++] : zero, want, 1e-7, "operand " + std::to_string(i));
  }
}

TEST_P(OpConformance, OnednnEqualsMeaning) {
  const Case& c = GetParam();
  if (c.def->opcode == Opcode::kTowerSum) return;  // cut away before a backend sees it
  const auto backend = make_onednn_backend();
  OneNode f32(c, DType::kF32), f64(c, DType::kF64);
  const auto want = evaluate(f64.graph, f64.inputs);
  const auto executable = backend->compile(f32.graph, {case_name({c, 0})});
  const auto context = executable->create_context();
  std::vector<const void*> inputs;
  for (const HostTensor& input : f32.inputs) inputs.push_back(input.bytes());
  for (int task = 0; task < executable->prologue_task_count(); ++task) executable->run_prologue_task(task, *context, inputs);
  std::vector<HostTensor> results;
  std::vector<void*> outputs;
  for (const Value& result : f32.results) results.emplace_back(result.type());
  for (HostTensor& result : results) outputs.push_back(result.bytes());
  for (int repeat = 0; repeat < 2; ++repeat) {
    executable->run(*context, inputs, outputs);
    for (size_t i = 0; i < results.size(); ++i)
      expect_near(results[i], want[i], is_float(results[i].dtype()) ? c.sample.tolerance : 0, "result " + std::to_string(i));
  }
}

INSTANTIATE_TEST_SUITE_P(Ops, OpConformance, testing::ValuesIn(all_cases()), case_name);

TEST(OpTable, EveryOpHasSamplesButTheParameter) {
  for (const OpDef& def : all_ops())
    if (def.opcode != Opcode::kParameter) {
      EXPECT_GE(def.rules().samples().size(), 1u) << def.mnemonic;
    }
}

}  // namespace
}  // namespace lockstep
