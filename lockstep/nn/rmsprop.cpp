// RMSprop: gradients divided by the root of their moving mean square.

#include "lockstep/nn/optimizer_fields.h"

namespace lockstep {
namespace {

struct RmspropKind {
  using Config = RMSpropConfig;
  static constexpr std::string_view kClassName = "RMSprop";
  static constexpr std::string_view kDefaultName = "rm_sprop";

  static void visit(auto& fields, Config& c) {
    fields("rho", c.rho);
    fields("momentum", c.momentum);
    fields("epsilon", c.epsilon);
    fields("centered", c.centered);
  }

  static void check(const Config&) {}

  static std::vector<SlotSpec> slots(const Config& c) {
    std::vector<SlotSpec> slots = {{.name = "velocity", .group = 0}};
    if (c.momentum > 0) slots.push_back({.name = "momentum", .group = 1});
    if (c.centered) slots.push_back({.name = "average_gradient", .group = 2});
    return slots;
  }

  static Optimizer::Result update(const Config& c, const Optimizer::Args& a) {
    Builder& b = a.builder;
    const auto average = [&](Value old, Value x) {
      return b.add(b.multiply(old, c.rho), b.multiply(x, 1.0 - c.rho));
    };
    const Value velocity = average(a.slots[0], b.square(a.gradient));
    Value denominator = velocity, average_gradient;
    if (c.centered) {
      average_gradient = average(a.slots.back(), a.gradient);
      denominator = b.subtract(velocity, b.square(average_gradient));
    }
    denominator = b.sqrt(b.add(denominator, c.epsilon));
    Value change = b.divide(b.multiply(a.gradient, a.learning_rate), denominator);
    Optimizer::Result result{{}, {velocity}};
    if (c.momentum > 0) {
      change = b.add(b.multiply(a.slots[1], c.momentum), change);
      result.slots.push_back(change);
    }
    if (c.centered) result.slots.push_back(average_gradient);
    result.weight = b.subtract(a.weight, change);
    return result;
  }
};

}  // namespace

OptimizerPtr RMSprop(RMSpropConfig config) {
  return std::make_shared<OptimizerOf<RmspropKind>>(std::move(config));
}

OptimizerPtr read_rmsprop(const Json& config) {
  return OptimizerOf<RmspropKind>::read(config);
}

}  // namespace lockstep
