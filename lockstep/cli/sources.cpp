#include "lockstep/cli/sources.h"

#include <algorithm>

#include "lockstep/cli/checkpoints.h"
#include "lockstep/formats/json.h"
#include "lockstep/zoo/zoo.h"

namespace lockstep {
namespace {

/// discriminator(generator(noise)), and nothing else.
bool is_chain(const Network& network, const Network& generator, const Network& discriminator) {
  const auto& calls = network.calls();
  return calls.size() == 2 && calls[0]->layer.get() == &generator &&
         calls[1]->layer.get() == &discriminator && calls[1]->inputs.size() == 1 &&
         calls[1]->inputs[0].producer == calls[0];
}

bool has_model(const Model& model, std::string_view name) {
  const std::vector<LayerPtr> layers = model.network()->layers();
  return std::any_of(layers.begin(), layers.end(), [&](const LayerPtr& layer) {
    return layer->name() == name && dynamic_cast<const Network*>(layer.get()) != nullptr;
  });
}

}  // namespace

std::optional<GanParts> gan_parts(Model& model) {
  if (!has_model(model, "generator") || !has_model(model, "discriminator")) return std::nullopt;
  GanParts parts{model.get_model("generator"), model.get_model("discriminator")};
  Model& discriminator = parts.discriminator;
  if (!is_chain(*model.network(), *parts.generator.network(), *discriminator.network()))
    invalid_argument(
        model.network()->name(),
        "a model of a \"generator\" and a \"discriminator\" is trained as a GAN, and must "
        "be discriminator(generator(noise)): it has other layers between or around them");
  if (discriminator.network()->trainable())
    trace(
        fmt::format("[{}] its discriminator is frozen inside it from here on: by itself it learns",
                    model.network()->name()));
  // One that came compiled out of a file goes on as it was.
  const bool is_compiled = discriminator.is_compiled();
  const Json config = model.compile_config().json;
  discriminator.set_trainable(true);
  discriminator.compile_from_config(
      is_compiled ? Json(discriminator.compile_config().json) : config, is_compiled);
  discriminator.set_trainable(false);
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
