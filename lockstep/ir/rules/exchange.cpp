// tower_sum: the one op whose work lies outside the graph. What it adds are the values of the other
// towers, so the meaning within one tower is the value itself.
#include "lockstep/ir/rules/rules.h"

namespace lockstep {

using namespace rules;

namespace {

void tower_sum_eval(Inputs in, const Attrs&, Outputs out) {
  out[0] = *in[0];
}

std::vector<Value> tower_sum_vjp(const VjpArgs& args) {
  // The loss is the sum of what all towers make of s = x_1 + ... + x_T, so ds/dx_t = 1 for every t
  // and dloss/dx_t is the sum over towers of their cotangents of s: again a sum over towers.
  return {args.builder.tower_sum(args.cotangents[0])};
}

std::vector<OpSample> tower_sum_samples() {
  return {{"scalar", {uniform({}, -1, 1, 1)}, NoAttrs{}},
          {"odd", {uniform({3, 5}, -1, 1, 1)}, NoAttrs{}}};
}

}  // namespace

DEFINE_RULES(TowerSum, {.infer = infer_float<"tower_sum">,
                        .vjp = tower_sum_vjp,
                        .eval = tower_sum_eval,
                        .samples = tower_sum_samples})

}  // namespace lockstep
