// The one training loop.
#include <unistd.h>

#include <cstdio>

#include "lockstep/train/class_weight.h"
#include "lockstep/train/model.h"
#include "lockstep/train/progress.h"

namespace lockstep {

/// One call of Model::fit.
class Fit : public TrainingControl {
 public:
  Fit(Model& model, const DatasetPtr& data, const FitArguments& arguments)
      : model_(model), a_(arguments), trainer_(prepare(data)) {}

  History run() {
    for (const CallbackPtr& callback : a_.callbacks) callback->on_train_begin(*this);
    if (verbose_ > 0)
      if (const std::string idle = trainer_.idle_devices(); !idle.empty()) log(idle);
    for (int64_t epoch = a_.initial_epoch; epoch < a_.epochs && !is_stopped_; ++epoch)
      run_epoch(epoch);
    for (const CallbackPtr& callback : a_.callbacks) callback->on_train_end(*this);
    trainer_.finalize_averages();
    return std::move(history_);
  }

  double learning_rate() const override { return trainer_.learning_rate(); }
  void set_learning_rate(double value) override { trainer_.set_learning_rate(value); }
  void stop_training() override { is_stopped_ = true; }
  void remember_weights() override {
    trainer_.store_variables();
    remembered_.clear();
    for (const VariablePtr& variable : model_.network_->all_variables())
      remembered_.push_back(variable->value);
  }
  void restore_weights() override {
    const auto variables = model_.network_->all_variables();
    for (size_t i = 0; i < remembered_.size(); ++i) variables[i]->value = remembered_[i];
    if (!remembered_.empty()) trainer_.load_variables();
  }
  void log(std::string_view line) override {
    if (a_.sink) {
      a_.sink(line);
      return;
    }
    std::printf("%.*s\n", static_cast<int>(line.size()), line.data());
    std::fflush(stdout);
  }

 private:
  Trainer& prepare(const DatasetPtr& data) {
    model_.require_compiled("fit");
    if (a_.epochs < 1) invalid_argument("epochs", "must be >= 1: {}", a_.epochs);
    if (a_.batch_size < 1) invalid_argument("batch_size", "must be >= 1: {}", a_.batch_size);
    if (!(a_.validation_split >= 0 && a_.validation_split < 1))
      invalid_argument("validation_split", "must be in [0, 1): {}", a_.validation_split);
    if (data->size() == 0) invalid_argument("data", "at least one sample is needed: none came");
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
    is_terminal_ = !a_.sink && isatty(STDOUT_FILENO) != 0;
    verbose_ = a_.verbose >= 0 ? a_.verbose : (is_terminal_ ? 1 : 2);
    Trainer& trainer = model_.trainer_for({a_.devices, a_.batch_size, a_.tower_size, a_.seed,
                                           a_.placement, a_.global_batchnorm, a_.before_tower});
    trainer.bind(StepKind::kTrain, bind_data(*train_, *model_.network_));
    if (validation_) trainer.bind(StepKind::kTest, bind_data(*validation_, *model_.network_));
    return trainer;
  }

  void run_epoch(int64_t epoch) {
    if (verbose_ > 0) log(fmt::format("Epoch {}/{}", epoch + 1, a_.epochs));
    for (const CallbackPtr& callback : a_.callbacks) callback->on_epoch_begin(*this, epoch);
    const double start = monotonic_seconds();
    MetricTotals totals;
    Loader loader(train_, trainer_.wanted(StepKind::kTrain),
                  {a_.batch_size, a_.seed, epoch, a_.shuffle, 0, a_.steps_per_epoch});
    const int64_t steps = loader.batch_count();
    int64_t done = 0;
    double drawn = 0;
    while (const Batch* batch = loader.next()) {
      history_.step_losses.push_back(trainer_.train_step(*batch, totals));
      ++done;
      after_step(batch->index, totals);
      if (verbose_ == 1 && is_terminal_ && monotonic_seconds() - drawn > 0.05) {
        drawn = monotonic_seconds();
        draw(done, steps, start, totals);
      }
      if (is_stopped_) break;
    }
    Logs logs = trainer_.logs(StepKind::kTrain, totals);
    if (validation_) append_validation(logs);
    if (verbose_ == 1 && is_terminal_) std::printf("\r");
    if (verbose_ == 1)
      log(progress_line(done, steps, monotonic_seconds() - start, logs, true) +
          (is_terminal_ ? "\x1b[K" : ""));
    if (verbose_ == 2) log(epoch_line(done, monotonic_seconds() - start, logs));
    history_.append(logs);
    for (const CallbackPtr& callback : a_.callbacks) callback->on_epoch_end(*this, epoch, logs);
  }

  void after_step(int64_t batch, const MetricTotals& totals) {
    if (a_.callbacks.empty()) return;
    const Logs logs = trainer_.logs(StepKind::kTrain, totals);
    for (const CallbackPtr& callback : a_.callbacks)
      callback->on_train_batch_end(*this, batch, logs);
  }

  void draw(int64_t done, int64_t steps, double start, const MetricTotals& totals) {
    const std::string line = progress_line(done, steps, monotonic_seconds() - start,
                                           trainer_.logs(StepKind::kTrain, totals), false);
    std::printf("\r%s\x1b[K", line.c_str());
    std::fflush(stdout);
  }

  void append_validation(Logs& logs) {
    Loader loader(validation_, trainer_.wanted(StepKind::kTest),
                  {.batch_size = a_.batch_size, .shuffle = false});
    MetricTotals totals;
    while (const Batch* batch = loader.next()) trainer_.test_step(*batch, totals);
    for (const auto& [name, value] : trainer_.logs(StepKind::kTest, totals))
      logs.emplace_back("val_" + name, value);
  }

  Model& model_;
  const FitArguments& a_;
  DatasetPtr train_, validation_;
  bool is_terminal_ = false, is_stopped_ = false;
  int verbose_ = 0;
  Trainer& trainer_;
  History history_;
  std::vector<HostTensor> remembered_;
};

History Model::fit(const DatasetPtr& data, const FitArguments& arguments) {
  return Fit(*this, data, arguments).run();
}

}  // namespace lockstep
