#include "lockstep/io/legacy_model.h"

#include "lockstep/io/legacy_optimizer.h"
#include "lockstep/io/legacy_weights.h"
#include "lockstep/nn/compile_config.h"

namespace lockstep {
namespace {

/// Empty where the file has none.
std::string version_of(const Hdf5Reader& h5) {
  for (const char* group : {"", "model_weights"})
    if (auto version = h5.text_attribute(group, "keras_version")) return *version;
  return "";
}

/// Null when the file has none, or one that Lockstep does not understand.
std::optional<CompileConfig> read_compile_config(const Hdf5Reader& h5, const std::string& where,
                                                 KerasFile& file) {
  const auto text = h5.text_attribute("", "training_config");
  if (!text) return std::nullopt;
  Json json = modern_compile_config(parse_json(*text, where + ": training_config"), version_of(h5));
  try {
    CompileConfig config = compile_config_from_json(json, file.network->output_names());
    // As Keras 3 writes it, for that is how it will be saved.
    if (config.optimizer) json["optimizer"] = optimizer_to_config(*config.optimizer);
    file.compile_config = json;
    return config;
  } catch (const Error& error) {
    file.remarks.push_back(fmt::format("{} is not compiled: {}", where, error.what()));
    return std::nullopt;
  }
}

void read_optimizer(const Hdf5Reader& h5, const std::string& where, const Optimizer& optimizer,
                    KerasFile& file) {
  if (!h5.has_group("optimizer_weights")) return;
  try {
    file.optimizer = read_legacy_optimizer(h5, where, *file.network, optimizer, version_of(h5));
  } catch (const Error& error) {
    file.remarks.push_back(
        fmt::format("the state of {} begins anew: {}", optimizer.class_name(), error.what()));
  }
}

}  // namespace

KerasFile read_legacy_model(const Hdf5Reader& h5, const std::string& where) {
  const auto group = legacy_weights_group(h5);
  const auto text = h5.text_attribute("", "model_config");
  if (!text)
    invalid_argument(
        where, "a model needs the attribute \"model_config\": the file has none. {}",
        group || h5.has_group("layers") ? "It holds weights alone: load them into a model"
                                        : "It is no file of Keras's");
  KerasFile file;
  const Json config =
      modern_model_config(parse_json(*text, where + ": model_config"), file.remarks);
  refuse_code(config, where);
  file.network = with_context(where, [&] { return network_from_config(config); });
  if (!group) fail(ErrorCode::kDataLoss, where, "a model needs the group \"/model_weights\"");
  load_legacy_weights(h5, *group, where, *file.network);
  if (const auto compiled = read_compile_config(h5, where, file); compiled && compiled->optimizer)
    read_optimizer(h5, where, *compiled->optimizer, file);
  return file;
}

}  // namespace lockstep
