// A run: a folder from which training goes on exactly where it was stopped.
#pragma once

#include <filesystem>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "lockstep/base/log.h"
#include "lockstep/train/model.h"

namespace lockstep {

struct RunOptions {
  int64_t keep = 3;        // newest checkpoints that stay
  LogSink sink = nullptr;  // where lines go; null: standard error
};

/// Models and counters that are saved together and come back together:
///
///   ls::Run run("runs/gan");
///   run.add("generator", generator);
///   int64_t& step = run.counter("step");
///   run.resume();
///   while (step < 10000) {
///     generator.train_on_batch(...);
///     ++step;
///     if (step % 500 == 0) run.checkpoint(step);
///   }
///   run.checkpoint(step);
///   run.finish();
///
/// A checkpoint is folder/checkpoints/step-00001234, with one .keras file a model (see
/// docs/checkpoint_format.md). It is written by a thread of its own from a snapshot. One process at
/// a time may have a run: a second one is refused.
class Run {
 public:
  /// Makes the folder where it is not there. Throws InvalidArgument when it cannot be made, or
  /// another process has it.
  explicit Run(std::filesystem::path folder, RunOptions options = {});
  /// Waits for what is being written.
  ~Run();
  Run(const Run&) = delete;
  Run& operator=(const Run&) = delete;

  /// `name` becomes a file name. The model outlives the run.
  void add(const std::string& name, Model& model);
  /// A number that is saved and comes back; 0 at first.
  int64_t& counter(const std::string& name) { return counters_[name]; }
  /// Anything else, by name: an object of JSON, and tensors.
  Json& state() { return state_; }
  std::map<std::string, HostTensor>& tensors() { return tensors_; }

  bool has_checkpoints() const;
  /// Brings back the newest whole checkpoint: models with weights and optimizer state, counters,
  /// state and tensors. False when there is none. Damaged ones are named and passed over. Throws
  /// InvalidArgument when it belongs to other models, DataLoss when there are checkpoints but no
  /// whole one. Damaged ones are set aside. `check` sees state and models first and may throw.
  using Check = std::function<void(const Json& state, const std::map<std::string, KerasFile>&)>;
  bool resume(const Check& check = nullptr);
  /// Takes a snapshot now and writes it in the background; waits for the one before. A failure to
  /// write it is said in a line; training goes on with the checkpoints there are.
  void checkpoint(int64_t step);
  /// Waits until everything is written. Throws what writing the newest checkpoint threw.
  void finish();
  /// The tensor of this name in `tensors()`. Throws DataLoss when there is none.
  const HostTensor& tensor(const std::string& name) const;

  const std::filesystem::path& folder() const { return folder_; }
  /// Seconds that checkpoint() and finish() kept the caller, and CPU seconds of the writer.
  double blocked_seconds() const { return blocked_seconds_; }
  double writer_seconds() const;

 private:
  class Lock;
  class Writer;
  void log(std::string_view line) const;

  std::filesystem::path folder_;
  RunOptions options_;
  std::map<std::string, Model*> models_;
  std::map<std::string, int64_t> counters_;
  Json state_ = Json::object();
  std::map<std::string, HostTensor> tensors_;
  double blocked_seconds_ = 0;
  std::unique_ptr<Lock> lock_;
  std::unique_ptr<Writer> writer_;
};

}  // namespace lockstep
