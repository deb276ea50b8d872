#include "lockstep/train/fit.h"

#include <algorithm>

#include "lockstep/train/class_weight.h"

namespace lockstep {

Fit::Fit(Model& model, const DatasetPtr& data, const FitArguments& arguments)
    : model_(model),
      a_(arguments),
      callbacks_(arguments.callbacks),
      display_(arguments.sink, arguments.verbose),
      epoch_(arguments.initial_epoch) {
  check_arguments(data);
  split_data(data);
  steps_in_epoch_ =
      a_.steps_per_epoch > 0 ? a_.steps_per_epoch : batches_in(train_->size(), a_.batch_size);
  if (!a_.run.empty()) open_run();
  make_trainer();
}

void Fit::check_arguments(const DatasetPtr& data) {
  model_.require_compiled("fit");
  if (a_.epochs < 1) invalid_argument("epochs", "must be >= 1: {}", a_.epochs);
  if (a_.initial_epoch < 0) invalid_argument("initial_epoch", "must be >= 0: {}", a_.initial_epoch);
  if (a_.batch_size < 1) invalid_argument("batch_size", "must be >= 1: {}", a_.batch_size);
  if (a_.steps_per_epoch == 0 || a_.steps_per_epoch < -1)
    invalid_argument("steps_per_epoch", "must be >= 1, or -1 for the whole data: {}",
                     a_.steps_per_epoch);
  if (a_.checkpoint_every < 0)
    invalid_argument("checkpoint_every", "must be >= 1 steps, or 0 for ends of epochs: {}",
                     a_.checkpoint_every);
  if (!(a_.validation_split >= 0 && a_.validation_split < 1))
    invalid_argument("validation_split", "must be in [0, 1): {}", a_.validation_split);
  require_samples(*data, "data");
  if (a_.validation_data) require_samples(*a_.validation_data, "validation_data");
  if (a_.run.empty() && a_.resume)
    invalid_argument("resume", "needs a run folder to go on from: none came");
}

void Fit::split_data(const DatasetPtr& data) {
  train_ = data;
  validation_ = a_.validation_data;
  if (!validation_ && a_.validation_split > 0) {
    const auto kept =
        static_cast<int64_t>(static_cast<double>(data->size()) * (1 - a_.validation_split));
    if (kept == 0 || kept == data->size())
      invalid_argument("validation_split", "{} of {} samples leaves one part empty",
                       a_.validation_split, data->size());
    validation_ = slice(data, kept, data->size());
    train_ = slice(data, 0, kept);
  }
  train_ = with_class_weight(train_, a_.class_weight);
}

void Fit::make_trainer() {
  int64_t tower_size = a_.tower_size;
  // The size that was chosen when the run began, whatever would be chosen now.
  if (is_resumed_ && tower_size == 0)
    tower_size = run_->state().at("arguments").at("tower_size").get<int64_t>();
  trainer_ = &model_.trainer_for({a_.devices, a_.batch_size, tower_size, a_.seed, a_.placement,
                                  a_.global_batchnorm, a_.before_tower,
                                  a_.run.empty() ? a_.run : a_.run / "programs"});
  trainer_->bind(StepKind::kTrain, bind_data(*train_, *model_.network()));
  if (validation_) trainer_->bind(StepKind::kTest, bind_data(*validation_, *model_.network()));
}

/// Epochs follow each other on one endless row of passes over the data, so that with
/// steps_per_epoch an epoch begins where the one before ended, as in Keras.
void Fit::make_loader() {
  const int64_t pass = batches_in(train_->size(), a_.batch_size);
  const int64_t begin = epoch_ * steps_in_epoch_ + position_, end = a_.epochs * steps_in_epoch_;
  LoaderOptions options{.batch_size = a_.batch_size,
                        .seed = a_.seed,
                        .epoch = begin / pass,
                        .shuffle = a_.shuffle,
                        .first_batch = begin % pass,
                        .epochs = 0};
  if (end > begin) options.epochs = (end - 1) / pass - begin / pass + 1;
  loader_ = std::make_unique<Loader>(train_, trainer_->wanted(StepKind::kTrain), options);
}

const Batch& Fit::next_batch() {
  const Batch* batch = loader_->next();
  if (batch == nullptr) batch = loader_->next();  // the end of a pass
  LOCKSTEP_CHECK(batch != nullptr);
  return *batch;
}

History Fit::run() {
  for (const CallbackPtr& callback : callbacks_) callback->on_train_begin(*this);
  if (is_resumed_) restore();
  for (const std::string& line : {trainer_->idle_devices(), trainer_->normalised_by_tower()})
    if (!line.empty()) log(line);
  if (run_) begin_run();
  make_loader();
  // Nobody can tell when a step ends: devices get the next one before.
  if (trainer_->runs_ahead() &&
      std::none_of(callbacks_.begin(), callbacks_.end(),
                   [](const CallbackPtr& callback) { return callback->watches_batches(); }))
    most_under_way_ = 1;
  // A stop in the middle of an epoch still ends the epoch.
  while (epoch_ < a_.epochs && !(is_stopped_ && position_ == 0) && !history_.is_interrupted)
    run_epoch();
  if (history_.is_interrupted) {
    if (run_) write_checkpoint();
    finish_run();
    return std::move(history_);
  }
  // Averages first, as in Keras: what EarlyStopping restores stays.
  trainer_->finalize_averages();
  for (const CallbackPtr& callback : callbacks_) callback->on_train_end(*this);
  finish_run();
  return std::move(history_);
}

/// What was trained is not lost for a checkpoint that could not be written.
void Fit::finish_run() {
  if (!run_) return;
  try {
    run_->finish();
  } catch (const Error& error) {
    history_.unwritten_checkpoint = error.what();
  }
  if (verbose_level() >= 1)
    trace(fmt::format("checkpoints: training waited {:.4f} s, their thread worked {:.4f} s",
                      run_->blocked_seconds(), run_->writer_seconds()));
}

void Fit::run_epoch() {
  log(fmt::format("Epoch {}/{}", epoch_ + 1, a_.epochs));
  if (position_ == 0) {
    totals_.reset();
    for (const CallbackPtr& callback : callbacks_) callback->on_epoch_begin(*this, epoch_);
  }
  history_.step_losses.reserve(history_.step_losses.size() +
                               static_cast<size_t>(steps_in_epoch_ - position_));
  display_.begin_epoch();
  const int64_t before = position_;
  while (position_ < steps_in_epoch_ && !is_stopped_) {
    if (is_stop_requested()) {
      finish_steps(0);
      return;
    }
    trainer_->start_train_step(next_batch(), steps_[static_cast<size_t>(step_ % 2)]);
    ++position_;
    ++step_;
    ++under_way_;
    finish_steps(most_under_way_);
    // At an epoch's last step the checkpoint waits for validation and on_epoch_end.
    if (run_ && a_.checkpoint_every > 0 && step_ % a_.checkpoint_every == 0 &&
        position_ < steps_in_epoch_) {
      finish_steps(0);
      write_checkpoint();
    }
  }
  finish_steps(0);
  Logs logs = trainer_->logs(StepKind::kTrain, totals_);
  if (validation_ && !append_validation(logs)) return;
  display_.end_epoch(position_, steps_in_epoch_, position_ - before, logs);
  for (const CallbackPtr& callback : callbacks_) callback->on_epoch_end(*this, epoch_, logs);
  history_.append(logs);
  ++epoch_;
  position_ = 0;
  if (run_) write_checkpoint();
}

/// Waits for the oldest steps until so many are left.
void Fit::finish_steps(int64_t most_under_way) {
  for (; under_way_ > most_under_way; after_step()) {
    const StartedStep& step = steps_[static_cast<size_t>((step_ - under_way_) % 2)];
    history_.step_losses.push_back(trainer_->finish_train_step(step, totals_));
    --under_way_;
  }
}

void Fit::after_step() {
  if (!callbacks_.empty()) {
    const Logs logs = trainer_->logs(StepKind::kTrain, totals_);
    for (const CallbackPtr& callback : callbacks_)
      callback->on_train_batch_end(*this, position_ - 1, logs);
  }
  if (display_.is_due())
    display_.draw(position_ - under_way_, steps_in_epoch_,
                  trainer_->logs(StepKind::kTrain, totals_));
}

bool Fit::append_validation(Logs& logs) {
  Loader loader(validation_, trainer_->wanted(StepKind::kTest),
                {.batch_size = a_.batch_size, .shuffle = false});
  MetricTotals totals;
  while (const Batch* batch = loader.next()) {
    if (is_stop_requested()) return false;
    trainer_->test_step(*batch, totals);
  }
  for (const auto& [name, value] : trainer_->logs(StepKind::kTest, totals))
    logs.emplace_back("val_" + name, value);
  return true;
}

bool Fit::is_stop_requested() {
  if (a_.should_stop && a_.should_stop()) history_.is_interrupted = true;
  return history_.is_interrupted;
}

History Model::fit(const DatasetPtr& data, const FitArguments& arguments) {
  return Fit(*this, data, arguments).run();
}

}  // namespace lockstep
