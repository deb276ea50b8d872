#include "lockstep/cli/sources.h"

#include <algorithm>

#include "lockstep/cli/checkpoints.h"
#include "lockstep/formats/json.h"
#include "lockstep/zoo/zoo.h"

namespace lockstep {

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

void write_losses(const std::string& path, const std::vector<double>& losses) {
  if (path.ends_with(".npy")) {
    write_file_atomically(path, write_npy(HostTensor::from<double>(
                                    {static_cast<int64_t>(losses.size())}, std::span(losses))));
    return;
  }
  if (path.ends_with(".json")) {
    write_file_atomically(path, dump_json(Json(losses)));
    return;
  }
  std::string text;
  for (const double loss : losses) text += fmt::format("{}\n", loss);
  write_file_atomically(path, text);
}

}  // namespace lockstep
