#include "lockstep/nn/optimizer.h"

#include <algorithm>
#include <cctype>
#include <span>

#include "lockstep/nn/object_fields.h"
#include "lockstep/nn/optimizer_fields.h"

namespace lockstep {
namespace {

struct OptimizerRow {
  std::string_view class_name;
  OptimizerPtr (*read)(const Json& config);
};

std::span<const OptimizerRow> optimizer_rows() {
  static constexpr OptimizerRow rows[] = {
      {"SGD", read_sgd},           {"RMSprop", read_rmsprop}, {"Adam", read_adam},
      {"AdamW", read_adamw},       {"Adamax", read_adamax},   {"Adagrad", read_adagrad},
      {"Adadelta", read_adadelta}, {"Lion", read_lion},
  };
  return rows;
}

std::string lower(std::string_view text) {
  std::string result(text);
  std::transform(result.begin(), result.end(), result.begin(),
                 [](unsigned char c) { return static_cast<char>(std::tolower(c)); });
  return result;
}

// Keras takes names of optimizers in any case.
const OptimizerRow& find_row(const std::string& name) {
  std::vector<std::string> known;
  for (const OptimizerRow& row : optimizer_rows()) {
    if (lower(row.class_name) == lower(name)) return row;
    known.push_back(lower(row.class_name));
  }
  const std::string closest = closest_name(lower(name), known);
  unsupported("optimizer", "\"{}\" is not among the optimizers Lockstep has.{}", name,
              closest.empty() ? "" : fmt::format(" Did you mean \"{}\"?", closest));
}

Json learning_rate_json(const LearningRate& learning_rate) {
  if (learning_rate.schedule) return schedule_to_config(*learning_rate.schedule);
  // Keras keeps it in a float32 variable.
  return static_cast<double>(static_cast<float>(learning_rate.value));
}

LearningRate learning_rate_from(const Json& json, std::string_view class_name) {
  if (json.is_object()) return schedule_from_config(json);
  if (!json.is_number())
    invalid_argument(class_name, "`learning_rate` must be a number or a schedule: {}", json.dump());
  return json.get<double>();
}

void check_clipping(const OptimizerConfig& config, std::string_view class_name) {
  const int given = config.clipnorm.has_value() + config.clipvalue.has_value() +
                    config.global_clipnorm.has_value();
  if (given > 1)
    invalid_argument(class_name,
                     "at most one of `clipnorm`, `clipvalue` and `global_clipnorm` may be set: {}",
                     given);
}

}  // namespace

OptimizerPtr optimizer_from_config(const Json& json) {
  if (json.is_string()) return find_row(json.get<std::string>()).read(Json::object());
  const KerasObject object = keras_object(json, "optimizer");
  return find_row(object.class_name).read(object.config);
}

Json optimizer_to_config(const Optimizer& optimizer) {
  return keras_object_json("keras.optimizers", optimizer.class_name(), optimizer.config());
}

void read_common(FieldReader& fields, std::string_view class_name, OptimizerConfig& config) {
  if (const Json* json = fields.find("learning_rate"))
    config.learning_rate = learning_rate_from(*json, class_name);
  fields("name", config.name);
  fields("weight_decay", config.weight_decay);
  fields("clipnorm", config.clipnorm);
  fields("global_clipnorm", config.global_clipnorm);
  fields("clipvalue", config.clipvalue);
  fields("use_ema", config.use_ema);
  fields("ema_momentum", config.ema_momentum);
  fields("ema_overwrite_frequency", config.ema_overwrite_frequency);
  fields("gradient_accumulation_steps", config.gradient_accumulation_steps);
  const Json* scale = fields.find("loss_scale_factor");
  if (scale != nullptr && !scale->is_null())
    unsupported(class_name, "`loss_scale_factor` must be null: {}. float32 needs no loss scaling",
                scale->dump());
}

Json write_common(const OptimizerConfig& config) {
  FieldWriter fields;
  fields("name", config.name);
  fields("learning_rate", learning_rate_json(config.learning_rate));
  fields("weight_decay", config.weight_decay);
  fields("clipnorm", config.clipnorm);
  fields("global_clipnorm", config.global_clipnorm);
  fields("clipvalue", config.clipvalue);
  fields("use_ema", config.use_ema);
  fields("ema_momentum", config.ema_momentum);
  fields("ema_overwrite_frequency", config.ema_overwrite_frequency);
  fields("loss_scale_factor", Json());
  fields("gradient_accumulation_steps", config.gradient_accumulation_steps);
  return std::move(fields).json();
}

void check_common(OptimizerConfig& config, std::string_view class_name,
                  std::string_view default_name) {
  if (config.name.empty()) config.name = default_name;
  check_clipping(config, class_name);
  // Keras takes 0 for "not set" here.
  if (config.gradient_accumulation_steps == 0) config.gradient_accumulation_steps.reset();
  if (config.gradient_accumulation_steps && *config.gradient_accumulation_steps < 2)
    invalid_argument(class_name, "`gradient_accumulation_steps` must be >= 2: {}",
                     *config.gradient_accumulation_steps);
  if (!config.use_ema) return;
  if (!(config.ema_momentum >= 0 && config.ema_momentum <= 1))
    invalid_argument(class_name, "`ema_momentum` must be in [0, 1]: {}", config.ema_momentum);
  if (config.ema_overwrite_frequency == 0) config.ema_overwrite_frequency.reset();
  if (config.ema_overwrite_frequency && *config.ema_overwrite_frequency < 1)
    invalid_argument(class_name, "`ema_overwrite_frequency` must be >= 1: {}",
                     *config.ema_overwrite_frequency);
}

}  // namespace lockstep
