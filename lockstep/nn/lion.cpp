// Lion (Chen et al., 2023): steps of one size, the sign of an interpolated momentum.

#include "lockstep/nn/optimizer_fields.h"

namespace lockstep {
namespace {

struct LionKind {
  using Config = LionConfig;
  static constexpr std::string_view kClassName = "Lion";
  static constexpr std::string_view kDefaultName = "lion";

  static void visit(auto& fields, Config& c) {
    fields("beta_1", c.beta_1);
    fields("beta_2", c.beta_2);
  }

  static void check(const Config& c) {
    if (!(c.beta_1 > 0 && c.beta_1 <= 1))
      invalid_argument(kClassName, "`beta_1` must be in (0, 1]: {}. SGD goes without", c.beta_1);
  }

  static std::vector<SlotSpec> slots(const Config&) { return {{.name = "momentum"}}; }

  static Optimizer::Result update(const Config& c, const Optimizer::Args& a) {
    Builder& b = a.builder;
    const auto blend = [&](double beta) {
      // Keras rounds beta to float32 before it takes it from 1.
      const double rest = 1.0f - static_cast<float>(beta);
      return b.add(b.multiply(a.slots[0], beta), b.multiply(a.gradient, rest));
    };
    const Value change = b.multiply(b.sign(blend(c.beta_1)), a.learning_rate);
    return {b.subtract(a.weight, change), {blend(c.beta_2)}};
  }
};

}  // namespace

OptimizerPtr Lion(LionConfig config) {
  return std::make_shared<OptimizerOf<LionKind>>(std::move(config));
}

OptimizerPtr read_lion(const Json& config) {
  return OptimizerOf<LionKind>::read(config);
}

}  // namespace lockstep
