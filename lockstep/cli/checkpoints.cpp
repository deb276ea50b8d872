#include "lockstep/cli/checkpoints.h"

#include <cstdio>

#include <fmt/ranges.h>

namespace lockstep {
namespace {

namespace fs = std::filesystem;

/// "key: value" of an object's numbers and texts, one line each.
std::string lines_of(const Json& object, const std::string& indent) {
  std::string text;
  for (const auto& [key, value] : object.items())
    if (value.is_primitive() && !value.is_null())
      text += fmt::format("{}{}: {}\n", indent, key,
                          value.is_string() ? value.get<std::string>() : dump_json(value));
  return text;
}

std::string checkpoint_folder(const std::string& word, const Checkpoint& checkpoint) {
  const fs::path path = word;
  if (fs::exists(path / "state.json")) return word;
  return (path / "checkpoints" / checkpoint_name(checkpoint.step)).string();
}

std::vector<std::string> model_files(const Checkpoint& checkpoint) {
  std::vector<std::string> models;
  for (const auto& [name, bytes] : checkpoint.files)
    if (name.ends_with(".keras")) models.push_back(name);
  return models;
}

}  // namespace

std::optional<Checkpoint> open_checkpoint(const std::string& word) {
  const fs::path path = word;
  if (!fs::is_directory(path)) return std::nullopt;
  if (fs::exists(path / "state.json")) return read_checkpoint(path);
  LatestCheckpoint latest = read_latest_checkpoint(path / "checkpoints");
  for (const std::string& message : latest.damaged)
    std::fprintf(stderr, "Passing over a damaged checkpoint: %s\n", message.c_str());
  if (!latest.checkpoint && !latest.damaged.empty())
    fail(ErrorCode::kDataLoss, word, "none of its {} checkpoints is whole", latest.damaged.size());
  if (!latest.checkpoint)
    fail(ErrorCode::kNotFound, word, "must be a checkpoint, or a run folder with a whole one");
  return std::move(latest.checkpoint);
}

Model checkpoint_model(const std::string& word, Checkpoint checkpoint) {
  const std::vector<std::string> models = model_files(checkpoint);
  if (models.size() != 1)
    invalid_argument(word, "must hold one model; give one of the files {}/{{{}}}",
                     checkpoint_folder(word, checkpoint), fmt::join(models, ","));
  return Model::from_file(
      parse_keras_file(std::move(checkpoint.files.at(models[0])), word + "/" + models[0]));
}

bool has_several_models(const Checkpoint& checkpoint) {
  return model_files(checkpoint).size() > 1;
}

std::string describe_checkpoint(const Checkpoint& checkpoint) {
  std::string text = fmt::format("checkpoint after step {}\n", checkpoint.step);
  text += lines_of(checkpoint.state.value("counters", Json::object()), "  ");
  const Json state = checkpoint.state.value("state", Json::object());
  if (state.contains("arguments")) text += "arguments\n" + lines_of(state["arguments"], "  ");
  if (state.contains("signature")) text += "numerics\n" + lines_of(state["signature"], "  ");
  for (const auto& [name, bytes] : checkpoint.files)
    text += fmt::format("file {}: {} bytes\n", name, bytes.size());
  return text;
}

}  // namespace lockstep
