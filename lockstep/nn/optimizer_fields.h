// What the optimizer classes share: the fields all of them take, and the class made from a Kind.
//
// A Kind gives Config, kClassName, kDefaultName, visit(fields, config) for its own fields in
// Keras's order, check(config), slots(config) and update(config, args).
#pragma once

#include "lockstep/nn/object_fields.h"
#include "lockstep/nn/optimizer.h"

namespace lockstep {

void read_common(FieldReader& fields, std::string_view class_name, OptimizerConfig& config);
Json write_common(const OptimizerConfig& config);
/// Completes the name; throws InvalidArgument where Keras does.
void check_common(OptimizerConfig& config, std::string_view class_name,
                  std::string_view default_name);

/// Copies the fields all optimizers take between a class's configuration and OptimizerConfig.
template <class From, class To>
void copy_common(const From& from, To& to) {
  to.learning_rate = from.learning_rate;
  to.weight_decay = from.weight_decay;
  to.clipnorm = from.clipnorm;
  to.clipvalue = from.clipvalue;
  to.global_clipnorm = from.global_clipnorm;
  to.use_ema = from.use_ema;
  to.ema_momentum = from.ema_momentum;
  to.ema_overwrite_frequency = from.ema_overwrite_frequency;
  to.gradient_accumulation_steps = from.gradient_accumulation_steps;
  to.name = from.name;
}

template <class Kind>
class OptimizerOf final : public Optimizer {
 public:
  using Config = typename Kind::Config;

  explicit OptimizerOf(Config config) : Optimizer(common_of(config)), config_(std::move(config)) {
    check_common(common, Kind::kClassName, Kind::kDefaultName);
    Kind::check(config_);
  }

  static OptimizerPtr read(const Json& json) {
    Config config;
    OptimizerConfig common = common_of(config);
    FieldReader fields(json, Kind::kClassName);
    read_common(fields, Kind::kClassName, common);
    Kind::visit(fields, config);
    fields.finish();
    copy_common(common, config);
    return std::make_shared<OptimizerOf>(std::move(config));
  }

  std::string_view class_name() const override { return Kind::kClassName; }
  std::vector<SlotSpec> slots() const override { return Kind::slots(config_); }
  Result update(const Args& args) const override { return Kind::update(config_, args); }

  Json config() const override {
    Json json = write_common(common);
    Config config = config_;
    FieldWriter fields;
    Kind::visit(fields, config);
    json.update(std::move(fields).json());
    return json;
  }

 private:
  static OptimizerConfig common_of(const Config& config) {
    OptimizerConfig common;
    copy_common(config, common);
    return common;
  }

  Config config_;
};

OptimizerPtr read_sgd(const Json& config);
OptimizerPtr read_rmsprop(const Json& config);
OptimizerPtr read_adam(const Json& config);
OptimizerPtr read_adamw(const Json& config);
OptimizerPtr read_adamax(const Json& config);
OptimizerPtr read_adagrad(const Json& config);
OptimizerPtr read_adadelta(const Json& config);
OptimizerPtr read_lion(const Json& config);

}  // namespace lockstep
