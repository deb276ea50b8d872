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

/// What comes before a maximum is often computed anew by each of its users, with other roundings:
/// the gradient must reach an element all the same. Its sum over a window does not depend on which.
class FusedMaximum {
 public:
  FusedMaximum() : builder_(graph_) {
    const Value x = parameter({4, 3, 3, 4}), gamma = parameter({4}), beta = parameter({4});
    normalized_ = builder_.relu(builder_.batch_norm_training(x, gamma, beta, 1e-3).y);
  }

  Builder& builder() { return builder_; }
  Value normalized() const { return normalized_; }
  Value parameter(Shape shape) {
    inputs_.push_back(HostTensor(DType::kF32, shape));
    PhiloxStream stream(philox_key(inputs_.size(), RandomPurpose::kInit, "fused"));
    for (float& value : inputs_.back().data<float>()) value = static_cast<float>(stream.uniform());
    return builder_.parameter({DType::kF32, std::move(shape)}, "x");
  }
  /// Sums over each image and channel of the gradient that `y` sends back.
  void expect_gradient_of(Value y) {
    const Value dx = gradients(builder_, {{y, parameter(y.shape())}}, {normalized_})[0];
    graph_.add_result(y);
    graph_.add_result(builder_.reduce_sum(dx, {1, 2}));
    expect_results(tested_backend(), graph_, inputs_, evaluate(graph_, inputs_), 1e-4);
  }

 private:
  Graph graph_;
  Builder builder_;
  Value normalized_;
  std::vector<HostTensor> inputs_;
};

TEST(FusedMaximum, SendsTheGradientOfMaxPoolingToOneElementOfAWindow) {
  for (int64_t pad : {0, 1}) {
    FusedMaximum fused;
    const PoolAttrs attrs{
        .window = {3, 3}, .strides = {1, 1}, .pad_low = {pad, pad}, .pad_high = {pad, pad}};
    fused.expect_gradient_of(fused.builder().max_pool2d(fused.normalized(), attrs));
  }
}

TEST(FusedMaximum, SendsTheGradientOfReduceMaxToTheLargestElements) {
  FusedMaximum fused;
  fused.expect_gradient_of(fused.builder().reduce_max(fused.normalized(), {1, 2}));
}

}  // namespace
}  // namespace lockstep
