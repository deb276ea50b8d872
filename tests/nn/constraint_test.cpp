// Constraints and regularizers: values by hand, configurations, refusals.
#include "lockstep/nn/constraint.h"

#include "layer_test_util.h"
#include "lockstep/nn/regularizer.h"

namespace lockstep {
namespace {

HostTensor constrained(const ConstraintPtr& constraint, const HostTensor& weight) {
  TestGraph graph;
  return graph.evaluate(constraint->apply(graph.builder, graph.input(weight)));
}

// Columns of norm 5 and 1.
HostTensor weight() {
  return HostTensor::of<float>({2, 2}, {3.0f, -1.0f, 4.0f, 0.0f});
}

TEST(Constraint, MaxNorm) {
  expect_near(constrained(MaxNorm({.max_value = 2.0}), weight()), {1.2f, -1.0f, 1.6f, 0.0f});
  const float row = 2.0f / std::sqrt(10.0f);
  expect_near(constrained(MaxNorm({.axis = 1}), weight()), {3 * row, -row, 2.0f, 0.0f});
  const float all = 2.0f / std::sqrt(26.0f);
  expect_near(constrained(MaxNorm({.axis = {0, 1}}), weight()), {3 * all, -all, 4 * all, 0.0f});
}

TEST(Constraint, NonNeg) {
  expect_near(constrained(NonNeg(), weight()), {3.0f, 0.0f, 4.0f, 0.0f});
}

TEST(Constraint, UnitNorm) {
  expect_near(constrained(UnitNorm(), weight()), {0.6f, -1.0f, 0.8f, 0.0f});
  expect_near(constrained(UnitNorm(), HostTensor::of<float>({2}, {0.0f, 0.0f})), {0.0f, 0.0f});
}

TEST(Constraint, MinMaxNorm) {
  const ConstraintPtr half = MinMaxNorm({.min_value = 2.0, .max_value = 4.0, .rate = 0.5});
  expect_near(constrained(half, weight()), {2.7f, -1.5f, 3.6f, 0.0f});
}

TEST(Constraint, ConfigurationsComeBack) {
  for (const ConstraintPtr& constraint :
       {MaxNorm({.max_value = 3.0, .axis = {0, 1, 2}}), MaxNorm(), NonNeg(), UnitNorm({.axis = 1}),
        MinMaxNorm({.rate = 0.5})}) {
    const Json json = constraint_to_config(constraint);
    EXPECT_EQ(constraint_to_config(constraint_from_config(json)), json);
  }
  EXPECT_EQ(constraint_to_config(MaxNorm({.max_value = 0.5, .axis = {0, 1}})).dump(),
            R"({"module":"keras.constraints","class_name":"MaxNorm","config":{"max_value":0.5,)"
            R"("axis":[0,1]},"registered_name":null})");
  EXPECT_EQ(constraint_from_config(nullptr), nullptr);
  EXPECT_EQ(constraint_from_config("unit_norm")->class_name(), "UnitNorm");
}

TEST(Constraint, RefusesWhatItDoesNotKnow) {
  expect_error(ErrorCode::kUnsupported, "unsupported constraint RadialConstraint",
               [] { constraint_from_config("RadialConstraint"); });
  expect_error(ErrorCode::kInvalidArgument, "`axis` must be an axis of the weight: 2",
               [] { constrained(MaxNorm({.axis = 2}), weight()); });
  expect_error(ErrorCode::kInvalidArgument, "`axis` must be an integer or a list", [] {
    constraint_from_config(Json::parse(R"({"class_name":"UnitNorm","config":{"axis":"all"}})"));
  });
}

double penalty(const RegularizerPtr& regularizer) {
  TestGraph graph;
  const Value x = graph.f32({3}, {1.0f, -2.0f, 0.5f});
  const Value sum = graph.builder.reduce_sum(regularizer->elementwise(graph.builder, x), {0});
  return graph.evaluate(sum).data<float>()[0];
}

TEST(Regularizer, Penalties) {
  EXPECT_NEAR(penalty(L1(0.1)), 0.35, 1e-6);
  EXPECT_NEAR(penalty(L2(0.1)), 0.525, 1e-6);
  EXPECT_NEAR(penalty(L1L2(0.1, 0.2)), 0.35 + 1.05, 1e-6);
  EXPECT_EQ(penalty(L1L2()), 0.0);
}

TEST(Regularizer, ConfigurationsComeBack) {
  for (const RegularizerPtr& regularizer : {L1(0.5), L2(0.25), L1L2(0.5, 0.25)}) {
    const Json json = regularizer_to_config(regularizer);
    EXPECT_EQ(regularizer_to_config(regularizer_from_config(json)), json);
  }
  EXPECT_EQ(regularizer_to_config(L2(0.5)).dump(),
            R"({"module":"keras.regularizers","class_name":"L2","config":{"l2":0.5},)"
            R"("registered_name":null})");
  EXPECT_EQ(regularizer_from_config(nullptr), nullptr);
  EXPECT_EQ(regularizer_from_config("l1")->l1, 0.01);
}

TEST(Regularizer, RefusesWhatItDoesNotKnow) {
  expect_error(ErrorCode::kUnsupported, "unsupported regularizer OrthogonalRegularizer",
               [] { regularizer_from_config("OrthogonalRegularizer"); });
  expect_error(ErrorCode::kInvalidArgument, "factors must be >= 0", [] { L2(-1.0); });
}

}  // namespace
}  // namespace lockstep
