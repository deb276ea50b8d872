#include "lockstep/nn/compile_config.h"

#include <algorithm>
#include <array>

namespace lockstep {
namespace {

constexpr std::string_view kWhere = "compile_config";

using Names = std::vector<std::string>;

std::string quoted(const Names& names) {
  return fmt::format("\"{}\"", fmt::join(names, "\", \""));
}

/// A dict by output name; a serialised loss or metric is a JSON object too.
bool is_by_name(const Json& json) {
  return json.is_object() && !json.contains("class_name");
}

/// One entry an output from a dict by output name; null where it has none.
std::vector<Json> entries_by_name(const Json& json, const Names& names, std::string_view key) {
  std::vector<Json> entries(names.size());
  for (const auto& [name, value] : json.items()) {
    const auto it = std::find(names.begin(), names.end(), name);
    if (it == names.end())
      invalid_argument(kWhere, "`{}` must name outputs of the model: \"{}\". It has {}", key, name,
                       quoted(names));
    entries[it - names.begin()] = value;
  }
  return entries;
}

std::vector<Json> entries_by_position(const Json& json, const Names& names, std::string_view key) {
  if (json.size() != names.size())
    invalid_argument(kWhere, "`{}` must have one entry for each output: {} for {} ({})", key,
                     json.size(), names.size(), quoted(names));
  return {json.begin(), json.end()};
}

/// The only element of lists of one: [["mse"]] is "mse".
const Json& unwrapped(const Json& json, std::string_view key) {
  if (!json.is_array()) return json;
  if (json.size() != 1)
    unsupported(kWhere, "`{}` must be one for each output: {}", key, json.dump());
  return unwrapped(json[0], key);
}

void read_losses(const Json& json, const Names& names, std::vector<OutputCompileConfig>& outputs) {
  if (json.is_null()) return;
  std::vector<Json> entries(names.size(), json);  // one loss stands for every output
  if (is_by_name(json)) entries = entries_by_name(json, names, "loss");
  if (json.is_array()) entries = entries_by_position(json, names, "loss");
  for (size_t i = 0; i < names.size(); ++i) {
    const Json& loss = unwrapped(entries[i], "loss");
    if (!loss.is_null())
      outputs[i].loss = with_context(fmt::format("output \"{}\"", names[i]),
                                     [&] { return loss_from_config(loss); });
  }
}

void read_loss_weights(const Json& json, const Names& names,
                       std::vector<OutputCompileConfig>& outputs) {
  if (json.is_null()) return;
  std::vector<Json> entries;
  if (is_by_name(json)) {
    entries = entries_by_name(json, names, "loss_weights");
  } else {
    entries =
        entries_by_position(json.is_array() ? json : Json::array({json}), names, "loss_weights");
  }
  for (size_t i = 0; i < names.size(); ++i) {
    const Json& weight = unwrapped(entries[i], "loss_weights");
    if (weight.is_null()) continue;
    if (!weight.is_number())
      invalid_argument(kWhere, "`loss_weights` must be numbers: {} (output \"{}\")", weight.dump(),
                       names[i]);
    outputs[i].loss_weight = weight.get<double>();
  }
}

/// All metrics in a nesting of lists, in order.
void flatten(const Json& json, std::vector<Json>& metrics) {
  if (json.is_array()) {
    for (const Json& element : json) flatten(element, metrics);
  } else if (!json.is_null()) {
    metrics.push_back(json);
  }
}

std::vector<std::vector<Json>> read_metrics(const Json& json, const Names& names,
                                            std::string_view key) {
  std::vector<std::vector<Json>> metrics(names.size());
  if (json.is_null() || json.empty()) return metrics;
  if (!json.is_array() && !is_by_name(json))
    invalid_argument(kWhere, "`{}` must be a list or a dict by output name: {}", key, json.dump());
  std::vector<Json> entries;
  if (is_by_name(json)) {
    entries = entries_by_name(json, names, key);
  } else if (names.size() == 1) {
    entries = {json};
  } else {
    entries = entries_by_position(json, names, key);
  }
  for (size_t i = 0; i < names.size(); ++i) flatten(entries[i], metrics[i]);
  return metrics;
}

void check_keys(const Json& json) {
  static constexpr std::array<std::string_view, 9> kKeys = {
      "optimizer",        "loss",        "loss_weights",        "metrics",
      "weighted_metrics", "run_eagerly", "steps_per_execution", "jit_compile",
      "auto_scale_loss"};
  for (const auto& [key, value] : json.items()) {
    if (std::find(kKeys.begin(), kKeys.end(), key) == kKeys.end())
      invalid_argument(kWhere, "the configuration has an unknown field: \"{}\"", key);
  }
  if (json.contains("run_eagerly") && json["run_eagerly"] == true)
    unsupported(kWhere, "`run_eagerly` must be false: true. Lockstep always compiles");
}

Json field(const Json& json, const std::string& key) {
  return json.contains(key) ? json[key] : Json();
}

/// One entry an output; bare when there is one output, null when nothing is set.
Json per_output(const std::vector<Json>& entries, bool is_set) {
  if (!is_set) return nullptr;
  return entries.size() == 1 ? entries[0] : Json(entries);
}

using MetricsMember = std::vector<Json> OutputCompileConfig::*;

Json metrics_json(const CompileConfig& config, MetricsMember member) {
  std::vector<Json> entries;
  bool is_set = false;
  for (const OutputCompileConfig& output : config.outputs) {
    entries.push_back(Json(output.*member));
    is_set |= !(output.*member).empty();
  }
  return per_output(entries, is_set);
}

}  // namespace

CompileConfig compile_config_from_json(const Json& json, const Names& output_names) {
  if (!json.is_object()) invalid_argument(kWhere, "it must be a JSON object: {}", json.dump());
  check_keys(json);
  CompileConfig config;
  config.json = json;
  // Keras's default where it is not said.
  const Json optimizer = json.contains("optimizer") ? json["optimizer"] : Json("rmsprop");
  if (!optimizer.is_null()) config.optimizer = optimizer_from_config(optimizer);
  config.outputs.resize(output_names.size());
  read_losses(field(json, "loss"), output_names, config.outputs);
  read_loss_weights(field(json, "loss_weights"), output_names, config.outputs);
  auto metrics = read_metrics(field(json, "metrics"), output_names, "metrics");
  auto weighted = read_metrics(field(json, "weighted_metrics"), output_names, "weighted_metrics");
  for (size_t i = 0; i < output_names.size(); ++i) {
    config.outputs[i].metrics = std::move(metrics[i]);
    config.outputs[i].weighted_metrics = std::move(weighted[i]);
  }
  return config;
}

Json compile_config_to_json(const CompileConfig& config) {
  std::vector<Json> losses, loss_weights;
  bool has_loss = false, has_weight = false;
  for (const OutputCompileConfig& output : config.outputs) {
    losses.push_back(output.loss ? loss_to_config(*output.loss) : Json());
    loss_weights.push_back(output.loss_weight);
    has_loss |= output.loss != nullptr;
    has_weight |= output.loss_weight != 1.0;
  }
  Json json;
  json["optimizer"] = config.optimizer ? optimizer_to_config(*config.optimizer) : Json();
  json["loss"] = per_output(losses, has_loss);
  json["loss_weights"] = per_output(loss_weights, has_weight);
  json["metrics"] = metrics_json(config, &OutputCompileConfig::metrics);
  json["weighted_metrics"] = metrics_json(config, &OutputCompileConfig::weighted_metrics);
  json["run_eagerly"] = false;
  json["steps_per_execution"] = 1;
  json["jit_compile"] = false;
  return json;
}

}  // namespace lockstep
