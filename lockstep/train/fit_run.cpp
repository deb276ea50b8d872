// What fit keeps in a run folder, and how it comes back.
#include "lockstep/formats/files.h"
#include "lockstep/io/checkpoint.h"
#include "lockstep/train/fit.h"

namespace lockstep {
namespace {

constexpr const char* kModel = "model";

std::string tensor_name(size_t callback, size_t index) {
  return fmt::format("callbacks/{}/{:06}", callback, index);
}

}  // namespace

void Fit::open_run() {
  run_ = std::make_unique<Run>(a_.run,
                               RunOptions{a_.keep, [this](std::string_view line) { warn(line); }});
  if (run_->has_checkpoints() && !a_.resume)
    invalid_argument(
        a_.run.string(),
        "has checkpoints already: resume to go on from them, or choose another folder");
  // The history goes on like any other log.
  callbacks_.push_back(CSVLogger({(a_.run / "history.csv").string()}));
  run_->add(kModel, model_);
  is_resumed_ = a_.resume && run_->resume();
  if (is_resumed_)
    checked_json(a_.run.string(), [&] { check_same_run(run_->state().at("arguments")); });
}

/// Everything that the numbers depend on, and the devices.
Json Fit::run_description() const {
  Json json = a_.run_details.is_null() ? Json::object() : a_.run_details;
  json["batch_size"] = a_.batch_size;
  json["epochs"] = a_.epochs;
  json["initial_epoch"] = a_.initial_epoch;
  json["steps_per_epoch"] = steps_in_epoch_;
  json["shuffle"] = a_.shuffle;
  json["seed"] = a_.seed;
  json["samples"] = train_->size();
  json["validation_samples"] = validation_ ? validation_->size() : 0;
  json["batchnorm"] = a_.global_batchnorm ? "global" : "tower";
  json["precision"] = "float32";
  json["tower_size"] = trainer_ != nullptr ? trainer_->tower_size() : a_.tower_size;
  json["threads_per_device"] = 1;
  Json& weights = json["class_weight"] = Json::object();
  for (const auto& [label, weight] : a_.class_weight) weights[std::to_string(label)] = weight;
  Json& callbacks = json["callbacks"] = Json::array();
  for (const CallbackPtr& callback : a_.callbacks)
    callbacks.push_back(std::string(callback->class_name()));
  json["compile"] = model_.compile_config().json;
  json["devices"] = a_.devices;
  return json;
}

/// Devices may differ, a tower size that was not asked for is the old one, and epochs may become
/// more: the bits are those of a run that had so many from the beginning.
void Fit::check_same_run(const Json& before) const {
  Json now = run_description();
  if (a_.tower_size == 0) now["tower_size"] = before.at("tower_size");
  if (a_.epochs >= before.at("epochs").get<int64_t>()) now["epochs"] = before.at("epochs");
  for (const Json* one : {&before, static_cast<const Json*>(&now)})
    for (const auto& [key, value] : one->items()) {
      if (key == "devices") continue;
      const Json then = before.value(key, Json()), wanted = now.value(key, Json());
      if (then != wanted)
        invalid_argument(a_.run.string(), "{} of this run is {}: it cannot go on with {}", key,
                         dump_json(then), dump_json(wanted));
    }
}

/// Writes run.json, and for a new run its first checkpoint: it is durable before training begins,
/// so that whatever comes there is one to go on from.
void Fit::begin_run() {
  Json& state = run_->state();
  const Json signature = trainer_->numerics_signature();
  if (is_resumed_ && state.value("signature", Json()) != signature)
    for (const auto& [key, value] : signature.items())
      if (const Json then = state["signature"].value(key, Json()); then != value)
        log(fmt::format(
            "The run was made with {} {}, and goes on with {}: to rounding, not bit for "
            "bit",
            key, dump_json(then), dump_json(value)));
  state["signature"] = signature;
  state["arguments"] = run_description();
  write_file_atomically(a_.run / "run.json", dump_json(state["arguments"], 1));
  if (is_resumed_) return;
  write_checkpoint();
  run_->finish();
}

void Fit::restore() {
  checked_json(a_.run.string(), [&] {
    const Json& state = run_->state();
    epoch_ = run_->counter("epoch");
    position_ = run_->counter("position");
    step_ = run_->counter("step");
    checkpointed_ = {epoch_, position_, step_};
    is_stopped_ = state.at("is_stopped").get<bool>();
    totals_.restore(state.at("totals"));
    history_.restore(state.at("history"));
    const auto losses = run_->tensors().at("step_losses").data<double>();
    history_.step_losses.assign(losses.begin(), losses.end());
    for (size_t i = 0; i < callbacks_.size(); ++i) {
      std::vector<HostTensor> tensors;
      for (size_t k = 0; run_->tensors().contains(tensor_name(i, k)); ++k)
        tensors.push_back(run_->tensors().at(tensor_name(i, k)));
      callbacks_[i]->restore(*this, state.at("callbacks").at(i), std::move(tensors));
    }
  });
  log(fmt::format("Going on after step {}", step_));
}

void Fit::write_checkpoint() {
  if (checkpointed_ == std::array{epoch_, position_, step_}) return;
  checkpointed_ = {epoch_, position_, step_};
  Json& state = run_->state();
  run_->counter("epoch") = epoch_;
  run_->counter("position") = position_;
  run_->counter("step") = step_;
  state["is_stopped"] = is_stopped_;
  state["totals"] = totals_.state();
  state["history"] = history_.state();
  Json& callbacks = state["callbacks"] = Json::array();
  run_->tensors().clear();
  for (size_t i = 0; i < callbacks_.size(); ++i) {
    callbacks.push_back(callbacks_[i]->state());
    const std::vector<HostTensor> tensors = callbacks_[i]->tensors();
    for (size_t k = 0; k < tensors.size(); ++k) run_->tensors()[tensor_name(i, k)] = tensors[k];
  }
  const auto steps = static_cast<int64_t>(history_.step_losses.size());
  run_->tensors()["step_losses"] =
      HostTensor::from<double>({steps}, std::span<const double>(history_.step_losses));
  run_->checkpoint(step_);
}

}  // namespace lockstep
