// What a trainer says when devices idle or normalisation is by the tower.
#include <algorithm>

#include "lockstep/train/trainer.h"

namespace lockstep {
namespace {

bool has_tower_normalization(const Layer& layer, const TrainableFlags& flags) {
  if (layer.class_name() == "BatchNormalization" && flags.trains(layer) &&
      !layer.config().value("synchronized", false))
    return true;
  const auto layers = layer.layers();
  return std::any_of(layers.begin(), layers.end(),
                     [&](const LayerPtr& inner) { return has_tower_normalization(*inner, flags); });
}

}  // namespace

std::string Trainer::normalised_by_tower() const {
  if (options_.global_batchnorm || options_.batch_size <= tower_size_ ||
      !has_tower_normalization(*network_, flags_))
    return "";
  return fmt::format(
      "BatchNormalization normalises over towers of {} of the batch's {} rows. "
      "synchronized=True in the layer, or --batchnorm global, makes it the whole batch",
      tower_size_, options_.batch_size);
}

std::string Trainer::idle_devices() const {
  const int towers =
      static_cast<int>(cut_towers(options_.batch_size, std::max<int64_t>(1, tower_size_)).size());
  if (towers >= team_->size()) return "";
  return fmt::format(
      "{} of {} devices idle: a batch of {} makes {} towers of {}. --tower-size {} would use them "
      "all",
      team_->size() - towers, team_->size(), options_.batch_size, towers, tower_size_,
      std::max<int64_t>(1, options_.batch_size / team_->size()));
}

}  // namespace lockstep
