#include <unistd.h>

#include <chrono>

#include "lockstep/formats/event_file.h"
#include "lockstep/train/callbacks.h"

namespace lockstep {
namespace {

double now() {
  return std::chrono::duration<double>(std::chrono::system_clock::now().time_since_epoch()).count();
}

/// The event file of one folder, made when the first scalar comes.
class Curves {
 public:
  explicit Curves(std::filesystem::path folder) : folder_(std::move(folder)) {}

  /// A new training; `mark` is in the names of its files.
  void begin(const std::string& mark) {
    file_.reset();
    mark_ = mark;
  }
  void add(const std::string& tag, int64_t step, double value) {
    if (!file_) {
      file_.emplace(EventFile::create(folder_, mark_));
      sync_folder(folder_);
    }
    file_->add_scalar(tag, step, static_cast<float>(value), now());
  }
  void flush() {
    if (file_) file_->flush();
  }

  Json state() const {
    if (!file_) return nullptr;
    sync_file(file_->path());  // what a checkpoint counts must outlive a loss of power
    return {{"file", file_->path().string()}, {"bytes", std::filesystem::file_size(file_->path())}};
  }
  void restore(const Json& state, const std::string& mark, TrainingControl& training) {
    begin(mark);
    if (state.is_null()) return remove_files();
    const std::filesystem::path path = state.at("file").get<std::string>();
    const auto bytes = state.at("bytes").get<uint64_t>();
    std::error_code error;
    const uint64_t there = std::filesystem::file_size(path, error);
    if (error || there < bytes)
      training.warn(
          fmt::format("TensorBoard: {} has lost events since the checkpoint", path.string()));
    if (error) return;
    if (there > bytes) cut_file(path, bytes);
    file_.emplace(EventFile::append_to(path));
  }

 private:
  /// What the training made after its checkpoint, when it had made nothing before.
  void remove_files() const {
    std::error_code ignored;
    for (const auto& entry : std::filesystem::directory_iterator(folder_, ignored))
      if (entry.path().filename().string().ends_with(mark_))
        std::filesystem::remove(entry.path(), ignored);
  }

  std::filesystem::path folder_;
  std::string mark_;
  std::optional<EventFile> file_;
};

class TensorBoardCallback : public Callback {
 public:
  explicit TensorBoardCallback(TensorBoardConfig config)
      : c_(std::move(config)),
        train_(std::filesystem::path(c_.log_dir) / "train"),
        validation_(std::filesystem::path(c_.log_dir) / "validation") {
    if (c_.update_freq < 0)
      invalid_argument(class_name(), "update_freq must be a number of steps, or 0 for epochs: {}",
                       c_.update_freq);
  }
  std::string_view class_name() const override { return "TensorBoard"; }
  bool watches_batches() const override { return c_.update_freq > 0; }

  void on_train_begin(TrainingControl&) override {
    mark_ = fmt::format("{:x}-{:x}", static_cast<uint64_t>(now() * 1e6), ::getpid());
    train_.begin(mark_);
    validation_.begin(mark_);
  }
  void on_train_batch_end(TrainingControl& training, int64_t, const Logs& logs) override {
    if (c_.update_freq == 0 || training.step() % c_.update_freq != 0) return;
    for (const auto& [name, value] : logs) train_.add("batch_" + name, training.step(), value);
    train_.flush();
  }
  void on_epoch_end(TrainingControl& training, int64_t epoch, Logs& logs) override {
    bool has_learning_rate = false;
    for (const auto& [name, value] : logs) {
      has_learning_rate |= name == "learning_rate";
      if (name.starts_with("val_"))
        validation_.add("epoch_" + name.substr(4), epoch, value);
      else
        train_.add("epoch_" + name, epoch, value);
    }
    if (!has_learning_rate) train_.add("epoch_learning_rate", epoch, training.learning_rate());
    train_.flush();
    validation_.flush();
  }

  Json state() const override {
    return {{"mark", mark_}, {"train", train_.state()}, {"validation", validation_.state()}};
  }
  void restore(TrainingControl& training, const Json& state, std::vector<HostTensor>) override {
    mark_ = state.at("mark").get<std::string>();
    train_.restore(state.at("train"), mark_, training);
    validation_.restore(state.at("validation"), mark_, training);
  }

 private:
  TensorBoardConfig c_;
  std::string mark_;  // of this training, also when it is resumed
  Curves train_, validation_;
};

}  // namespace

CallbackPtr TensorBoard(TensorBoardConfig config) {
  return std::make_shared<TensorBoardCallback>(std::move(config));
}

}  // namespace lockstep
