// Every op of the table, every sample, forward and gradient, as StableHLO through a plugin, against
// the op's own meaning in f64.
#include "tests/op_conformance/conformance.h"
#include <cstdlib>

#include "lockstep/backend/pjrt/pjrt_backend.h"

namespace lockstep {
namespace {

using namespace conformance;

/// XLA on the processor, or the kind of hardware that scripts/gpu_check.sh names.
const Backend& tested_backend() {
  static const std::unique_ptr<Backend> backend = [] {
    const char* kind = std::getenv("LOCKSTEP_TEST_KIND");
    return make_pjrt_backend(kind == nullptr ? "xla_cpu" : kind, 1, {});
  }();
  return *backend;
}

// Programs are cut at tower_sum before a backend sees them.
bool is_emitted(const Case& c) {
  return c.def->opcode != Opcode::kTowerSum;
}

using OnXla = testing::TestWithParam<Case>;

TEST_P(OnXla, EqualsMeaning) {
  const Case& c = GetParam();
  OneNode f32(c, DType::kF32), f64(c, DType::kF64);
  // XLA's polynomials for float32 are a few units in the last place away from the C library's.
  expect_results(tested_backend(), f32.graph, f32.inputs, evaluate(f64.graph, f64.inputs),
                 std::max(c.sample.tolerance, 4e-6));
}

INSTANTIATE_TEST_SUITE_P(Ops, OnXla, testing::ValuesIn(cases_where(is_emitted)), param_name<Case>);

using GradientOnXla = testing::TestWithParam<Case>;

TEST_P(GradientOnXla, EqualsMeaning) {
  const Case& c = GetParam();
  OneNode f32(c, DType::kF32), f64(c, DType::kF64);
  const std::vector<HostTensor> cotangents = random_cotangents(f64);
  replace_by_gradient(f32, cotangents);
  replace_by_gradient(f64, cotangents);
  expect_results(tested_backend(), f32.graph, f32.inputs, evaluate(f64.graph, f64.inputs),
                 std::max(c.sample.tolerance, 1e-5));
}

INSTANTIATE_TEST_SUITE_P(Ops, GradientOnXla, testing::ValuesIn(cases_where([](const Case& c) {
                           return is_emitted(c) && c.rules().vjp != nullptr &&
                                  c.sample.check_gradient && !c.sample.operands.empty();
                         })),
                         param_name<Case>);

}  // namespace
}  // namespace lockstep
