// Adam (Kingma and Ba, 2015), with AMSGrad, and AdamW; Adamax.

#include "lockstep/nn/optimizer_fields.h"

namespace lockstep {
namespace {

/// old + (x - old) * (1 - beta)
Value moving_average(Builder& b, Value old, Value x, double beta) {
  return b.add(old, b.multiply(b.subtract(x, old), 1.0 - beta));
}

/// 1 - beta ^ updates, f32[]
Value bias_correction(const Optimizer::Args& a, double beta) {
  Builder& b = a.builder;
  return b.subtract(1.0, b.power(b.like(a.updates, beta), a.updates));
}

template <class ConfigType>
struct AdamRule {
  using Config = ConfigType;

  static void visit(auto& fields, Config& c) {
    fields("beta_1", c.beta_1);
    fields("beta_2", c.beta_2);
    fields("epsilon", c.epsilon);
    fields("amsgrad", c.amsgrad);
  }

  static void check(const Config&) {}

  static std::vector<SlotSpec> slots(const Config& c) {
    std::vector<SlotSpec> slots = {{.name = "momentum"}, {.name = "velocity"}};
    if (c.amsgrad) slots.push_back({.name = "velocity_hat", .group = 1});
    return slots;
  }

  static Optimizer::Result update(const Config& c, const Optimizer::Args& a) {
    Builder& b = a.builder;
    const Value alpha = b.divide(b.multiply(a.learning_rate, b.sqrt(bias_correction(a, c.beta_2))),
                                 bias_correction(a, c.beta_1));
    const Value m = moving_average(b, a.slots[0], a.gradient, c.beta_1);
    const Value v = moving_average(b, a.slots[1], b.square(a.gradient), c.beta_2);
    Optimizer::Result result{{}, {m, v}};
    if (c.amsgrad) result.slots.push_back(b.maximum(a.slots[2], v));
    const Value root = b.add(b.sqrt(result.slots.back()), c.epsilon);
    result.weight = b.subtract(a.weight, b.divide(b.multiply(m, alpha), root));
    return result;
  }
};

struct AdamKind : AdamRule<AdamConfig> {
  static constexpr std::string_view kClassName = "Adam";
  static constexpr std::string_view kDefaultName = "adam";
};

struct AdamWKind : AdamRule<AdamWConfig> {
  static constexpr std::string_view kClassName = "AdamW";
  static constexpr std::string_view kDefaultName = "adam_w";

  static void check(const AdamWConfig& c) {
    if (!c.weight_decay)
      invalid_argument(kClassName, "`weight_decay` must be a number: null. Adam goes without");
  }
};

struct AdamaxKind {
  using Config = AdamaxConfig;
  static constexpr std::string_view kClassName = "Adamax";
  static constexpr std::string_view kDefaultName = "adamax";

  static void visit(auto& fields, Config& c) {
    fields("beta_1", c.beta_1);
    fields("beta_2", c.beta_2);
    fields("epsilon", c.epsilon);
  }

  static void check(const Config&) {}

  static std::vector<SlotSpec> slots(const Config&) {
    return {{.name = "momentum"}, {.name = "norm"}};
  }

  static Optimizer::Result update(const Config& c, const Optimizer::Args& a) {
    Builder& b = a.builder;
    const Value m = moving_average(b, a.slots[0], a.gradient, c.beta_1);
    const Value u = b.maximum(b.multiply(a.slots[1], c.beta_2), b.abs(a.gradient));
    const Value denominator = b.multiply(b.add(u, c.epsilon), bias_correction(a, c.beta_1));
    const Value change = b.divide(b.multiply(m, a.learning_rate), denominator);
    return {b.subtract(a.weight, change), {m, u}};
  }
};

}  // namespace

OptimizerPtr Adam(AdamConfig config) {
  return std::make_shared<OptimizerOf<AdamKind>>(std::move(config));
}

OptimizerPtr AdamW(AdamWConfig config) {
  return std::make_shared<OptimizerOf<AdamWKind>>(std::move(config));
}

OptimizerPtr Adamax(AdamaxConfig config) {
  return std::make_shared<OptimizerOf<AdamaxKind>>(std::move(config));
}

OptimizerPtr read_adam(const Json& config) {
  return OptimizerOf<AdamKind>::read(config);
}
OptimizerPtr read_adamw(const Json& config) {
  return OptimizerOf<AdamWKind>::read(config);
}
OptimizerPtr read_adamax(const Json& config) {
  return OptimizerOf<AdamaxKind>::read(config);
}

}  // namespace lockstep
