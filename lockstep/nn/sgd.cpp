// Gradient descent with momentum, plain or Nesterov's.

#include "lockstep/nn/optimizer_fields.h"

namespace lockstep {
namespace {

struct SgdKind {
  using Config = SGDConfig;
  static constexpr std::string_view kClassName = "SGD";
  static constexpr std::string_view kDefaultName = "sgd";

  static void visit(auto& fields, Config& c) {
    fields("momentum", c.momentum);
    fields("nesterov", c.nesterov);
  }

  static void check(const Config& c) {
    if (!(c.momentum >= 0 && c.momentum <= 1))
      invalid_argument(kClassName, "`momentum` must be in [0, 1]: {}", c.momentum);
  }

  static std::vector<SlotSpec> slots(const Config& c) {
    if (c.momentum == 0) return {};
    return {{.name = "momentum"}};
  }

  static Optimizer::Result update(const Config& c, const Optimizer::Args& a) {
    Builder& b = a.builder;
    const Value step = b.multiply(a.gradient, a.learning_rate);
    if (c.momentum == 0) return {b.subtract(a.weight, step), {}};
    const Value m = b.subtract(b.multiply(a.slots[0], c.momentum), step);
    const Value change = c.nesterov ? b.subtract(b.multiply(m, c.momentum), step) : m;
    return {b.add(a.weight, change), {m}};
  }
};

}  // namespace

OptimizerPtr SGD(SGDConfig config) {
  return std::make_shared<OptimizerOf<SgdKind>>(std::move(config));
}

OptimizerPtr read_sgd(const Json& config) {
  return OptimizerOf<SgdKind>::read(config);
}

}  // namespace lockstep
