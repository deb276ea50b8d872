// Adagrad and Adadelta: a step size for each weight from the history of its gradients.

#include "lockstep/nn/optimizer_fields.h"

namespace lockstep {
namespace {

struct AdagradKind {
  using Config = AdagradConfig;
  static constexpr std::string_view kClassName = "Adagrad";
  static constexpr std::string_view kDefaultName = "adagrad";

  static void visit(auto& fields, Config& c) {
    fields("initial_accumulator_value", c.initial_accumulator_value);
    fields("epsilon", c.epsilon);
  }

  static void check(const Config&) {}

  static std::vector<SlotSpec> slots(const Config& c) {
    return {{.name = "accumulator", .initial_value = c.initial_accumulator_value}};
  }

  static Optimizer::Result update(const Config& c, const Optimizer::Args& a) {
    Builder& b = a.builder;
    const Value accumulator = b.add(a.slots[0], b.square(a.gradient));
    const Value root = b.sqrt(b.add(accumulator, c.epsilon));
    const Value change = b.divide(b.multiply(a.gradient, a.learning_rate), root);
    return {b.subtract(a.weight, change), {accumulator}};
  }
};

struct AdadeltaKind {
  using Config = AdadeltaConfig;
  static constexpr std::string_view kClassName = "Adadelta";
  static constexpr std::string_view kDefaultName = "adadelta";

  static void visit(auto& fields, Config& c) {
    fields("rho", c.rho);
    fields("epsilon", c.epsilon);
  }

  static void check(const Config&) {}

  static std::vector<SlotSpec> slots(const Config&) {
    return {{.name = "accumulated_grad"}, {.name = "accumulated_delta_var"}};
  }

  static Optimizer::Result update(const Config& c, const Optimizer::Args& a) {
    Builder& b = a.builder;
    const auto average = [&](Value old, Value x) {
      return b.add(b.multiply(old, c.rho), b.multiply(b.square(x), 1.0 - c.rho));
    };
    const auto root = [&](Value x) { return b.sqrt(b.add(x, c.epsilon)); };
    const Value gradients = average(a.slots[0], a.gradient);
    const Value delta =
        b.negate(b.divide(b.multiply(root(a.slots[1]), a.gradient), root(gradients)));
    const Value deltas = average(a.slots[1], delta);
    return {b.add(a.weight, b.multiply(delta, a.learning_rate)), {gradients, deltas}};
  }
};

}  // namespace

OptimizerPtr Adagrad(AdagradConfig config) {
  return std::make_shared<OptimizerOf<AdagradKind>>(std::move(config));
}

OptimizerPtr Adadelta(AdadeltaConfig config) {
  return std::make_shared<OptimizerOf<AdadeltaKind>>(std::move(config));
}

OptimizerPtr read_adagrad(const Json& config) {
  return OptimizerOf<AdagradKind>::read(config);
}
OptimizerPtr read_adadelta(const Json& config) {
  return OptimizerOf<AdadeltaKind>::read(config);
}

}  // namespace lockstep
