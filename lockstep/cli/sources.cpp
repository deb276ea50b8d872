#include "lockstep/cli/sources.h"

#include <algorithm>

#include "lockstep/cli/checkpoints.h"
#include "lockstep/formats/json.h"
#include "lockstep/zoo/zoo.h"

namespace lockstep {
namespace {

NetworkPtr inner_network(const Model& model, std::string_view name) {
  for (const LayerPtr& layer : model.network()->layers())
    if (layer->name() == name) return std::dynamic_pointer_cast<Network>(layer);
  return nullptr;
}

}  // namespace

std::optional<GanParts> gan_parts(Model& model) {
  const NetworkPtr generator = inner_network(model, "generator"),
                   discriminator = inner_network(model, "discriminator");
  if (!generator || !discriminator) return std::nullopt;
  GanParts parts{Model(generator), Model(discriminator)};
  const Json config = model.compile_config().json;
  discriminator->set_trainable(true);
  parts.discriminator.compile_from_config(config);
  discriminator->set_trainable(false);
  model.compile_from_config(config, /*keep_optimizer=*/true);
  return parts;
}

Model open_model(const std::string& word) {
  if (word.starts_with("zoo:")) {
    const std::string name = word.substr(4);
    Model model(zoo_model(name));
    model.compile_from_config(zoo_compile_config(name));
    return model;
  }
  if (std::optional<Checkpoint> checkpoint = open_checkpoint(word))
    return checkpoint_model(word, std::move(*checkpoint));
  if (!std::filesystem::exists(word))
    fail(ErrorCode::kNotFound, word, "there is no such file or run folder");
  return Model::load(word);
}

DatasetPtr open_data(const std::string& word, Part part, const Model& model) {
  DatasetPtr data = open_source(word, part);
  const bool has_images = word == "fashion-mnist" || word.starts_with("idx:");
  if (!has_images || !model.is_compiled() || model.compile_config().outputs.size() != 1)
    return data;
  const LossPtr& loss = model.compile_config().outputs[0].loss;
  const Shape& output = model.network()->outputs()[0].spec.shape;
  if (!loss || loss->target_dtype() != DType::kF32 || output.rank() != 2 || output.back() == 1)
    return data;
  return one_hot_targets(data, output.back());
}

void write_losses(const std::string& path, const std::vector<std::vector<double>>& losses) {
  const size_t steps = losses.at(0).size();
  std::vector<double> flat;
  for (size_t step = 0; step < steps; ++step)
    for (const std::vector<double>& list : losses) flat.push_back(list.at(step));
  if (path.ends_with(".npy")) {
    Shape shape{static_cast<int64_t>(steps)};
    if (losses.size() > 1)
      shape = {static_cast<int64_t>(steps), static_cast<int64_t>(losses.size())};
    write_file_atomically(path, write_npy(HostTensor::from<double>(shape, std::span(flat))));
    return;
  }
  if (path.ends_with(".json")) {
    Json json = Json::array();
    for (size_t step = 0; step < steps; ++step) {
      if (losses.size() == 1) {
        json.push_back(flat[step]);
        continue;
      }
      Json& row = json.emplace_back(Json::array());
      for (const std::vector<double>& list : losses) row.push_back(list[step]);
    }
    write_file_atomically(path, dump_json(json));
    return;
  }
  std::string text;
  for (size_t i = 0; i < flat.size(); ++i)
    text += fmt::format("{}{}", flat[i], (i + 1) % losses.size() == 0 ? '\n' : ' ');
  write_file_atomically(path, text);
}

}  // namespace lockstep
