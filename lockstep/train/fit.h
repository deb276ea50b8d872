// The one training loop: epochs, validation, callbacks, and a run folder to go on from.
#pragma once

#include <array>
#include <memory>
#include <string>
#include <vector>

#include "lockstep/train/model.h"
#include "lockstep/train/progress.h"
#include "lockstep/train/run.h"

namespace lockstep {

/// One call of Model::fit.
class Fit : public TrainingControl {
 public:
  Fit(Model& model, const DatasetPtr& data, const FitArguments& arguments);
  History run();

  double learning_rate() const override { return trainer_->learning_rate(); }
  void set_learning_rate(double value) override { trainer_->set_learning_rate(value); }
  void stop_training() override { is_stopped_ = true; }
  std::vector<HostTensor> weights() override { return model_.get_weights(); }
  void set_weights(const std::vector<HostTensor>& weights) override { model_.set_weights(weights); }
  void save(const std::filesystem::path& path) override { model_.save(path); }
  void save_weights(const std::filesystem::path& path) override { model_.save_weights(path); }
  int64_t step() const override { return step_; }
  bool is_resumed() const override { return is_resumed_; }
  void log(std::string_view line) override { display_.log(line); }
  void warn(std::string_view line) override { display_.warn(line); }

 private:
  void check_arguments(const DatasetPtr& data);
  void split_data(const DatasetPtr& data);
  void make_trainer();
  void make_loader();

  // Run folders.
  void open_run();
  Json run_description() const;
  void check_same_run(const Json& before) const;
  void finish_run();
  void warn_of_other_numerics(const Json& then, const Json& now);
  void begin_run();
  void restore();
  void write_checkpoint();
  bool is_stop_requested();

  void run_epoch();
  const Batch& next_batch();
  void finish_steps(int64_t most_under_way);
  void after_step();
  /// False when it was stopped on the way.
  bool append_validation(Logs& logs);

  Model& model_;
  const FitArguments& a_;
  std::vector<CallbackPtr> callbacks_;
  ProgressDisplay display_;
  DatasetPtr train_, validation_;
  int64_t steps_in_epoch_ = 0;
  Trainer* trainer_ = nullptr;
  std::unique_ptr<Loader> loader_;
  std::unique_ptr<Run> run_;
  std::string data_digest_, validation_digest_;

  // Where training is; all of it is in checkpoints.
  int64_t epoch_ = 0, position_ = 0;  // batches of this epoch that are done
  int64_t step_ = 0;
  MetricTotals totals_;  // of this epoch
  History history_;
  bool is_stopped_ = false;

  // Steps that were begun and not finished; the one that comes is begun in steps_[step_ % 2].
  std::array<StartedStep, 2> steps_;
  int64_t under_way_ = 0, most_under_way_ = 0;

  bool is_resumed_ = false;
  std::array<int64_t, 3> checkpointed_{-1, -1, -1};  // epoch, position, step of the newest
};

}  // namespace lockstep
