// What fit keeps in a run folder, and how it comes back.
#include "lockstep/formats/files.h"
#include "lockstep/io/checkpoint.h"
#include "lockstep/train/fit.h"
#include "lockstep/train/run_settings.h"

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
  data_digest_ = sample_digest(*train_);
  if (validation_) validation_digest_ = sample_digest(*validation_);
  // The history goes on like any other log.
  callbacks_.push_back(CSVLogger({(a_.run / "history.csv").string()}));
  run_->add(kModel, model_);
  is_resumed_ = a_.resume && run_->resume([&](const Json& state, const auto& models) {
    const Network& before = *models.at(kModel).network;
    refuse_difference(a_.run.string(), "model", network_to_config(before),
                      network_to_config(*model_.network()));
    checked_json(a_.run.string(), [&] { check_same_run(state.at("arguments")); });
  });
}

/// Everything that the numbers depend on, and the devices.
Json Fit::run_description() const {
  Json json = a_.run_details.is_null() ? Json::object() : a_.run_details;
  json["samples"] = train_->size();
  json["validation_samples"] = validation_ ? validation_->size() : 0;
  json["data_digest"] = data_digest_;
  json["validation_digest"] = validation_digest_;
  json["batch_size"] = a_.batch_size;
  json["epochs"] = a_.epochs;
  json["initial_epoch"] = a_.initial_epoch;
  json["steps_per_epoch"] = steps_in_epoch_;
  json["shuffle"] = a_.shuffle;
  json["seed"] = a_.seed;
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
  Json then = before;
  for (Json* one : {&then, &now}) {
    one->erase("devices");
    forget_optimizer_name((*one)["compile"]);
  }
  refuse_difference(a_.run.string(), "", then, now);
}

/// The first difference is told: what comes behind it in a signature follows from it.
void Fit::warn_of_other_numerics(const Json& then, const Json& now) {
  for (const char* key : {"backend", "processor", "version", "precision", "tower_size",
                          "threads_per_device", "kernels", "tower_step"}) {
    const Json before = then.value(key, Json()), after = now.value(key, Json());
    if (before == after) continue;
    warn(fmt::format(
        "The run was made with {} {}, and goes on with {}: to rounding, not bit for bit", key,
        dump_json(before), dump_json(after)));
    return;
  }
}

/// Writes run.json, and for a new run its first checkpoint: it is durable before training begins,
/// so that whatever comes there is one to go on from.
void Fit::begin_run() {
  Json& state = run_->state();
  const Json signature = trainer_->numerics_signature();
  if (is_resumed_) warn_of_other_numerics(state.value("signature", Json::object()), signature);
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
    const auto losses = run_->tensor("step_losses").data<double>();
    if (epoch_ < a_.initial_epoch || position_ < 0 || position_ > steps_in_epoch_ ||
        step_ != static_cast<int64_t>(losses.size()))
      fail(ErrorCode::kDataLoss, a_.run.string(),
           "its checkpoint says epoch {}, position {} of {}, step {} with {} losses", epoch_,
           position_, steps_in_epoch_, step_, losses.size());
    checkpointed_ = {epoch_, position_, step_};
    is_stopped_ = state.at("is_stopped").get<bool>();
    totals_.restore(state.at("totals"));
    history_.restore(state.at("history"));
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
