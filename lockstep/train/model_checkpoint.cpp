#include "lockstep/formats/files.h"
#include "lockstep/train/callbacks.h"
#include "lockstep/train/monitor.h"

namespace lockstep {
namespace {

class ModelCheckpointCallback : public Callback {
 public:
  explicit ModelCheckpointCallback(ModelCheckpointConfig config)
      : c_(std::move(config)), monitor_(c_.monitor, c_.mode, 0, class_name()) {
    const std::string_view wanted = c_.save_weights_only ? ".weights.h5" : ".keras";
    if (!c_.filepath.ends_with(wanted))
      invalid_argument(class_name(), "filepath must end in {}{}: \"{}\"", wanted,
                       c_.save_weights_only ? " with save_weights_only" : "", c_.filepath);
    if (c_.save_freq < 0)
      invalid_argument(class_name(), "save_freq must be a number of batches, or 0 for epochs: {}",
                       c_.save_freq);
    monitor_.set_best(c_.initial_value_threshold);
  }
  std::string_view class_name() const override { return "ModelCheckpoint"; }
  bool watches_batches() const override { return c_.save_freq > 0; }

  void on_epoch_begin(TrainingControl&, int64_t epoch) override { epoch_ = epoch; }
  void on_train_batch_end(TrainingControl& training, int64_t batch, const Logs& logs) override {
    if (c_.save_freq == 0 || ++batches_ < c_.save_freq) return;
    batches_ = 0;
    save(training, batch, logs);
  }
  void on_epoch_end(TrainingControl& training, int64_t, Logs& logs) override {
    if (c_.save_freq == 0) save(training, std::nullopt, logs);
  }

  Json state() const override {
    return {{"best", monitor_.best_state()}, {"batches", batches_}, {"epoch", epoch_}};
  }
  void restore(TrainingControl&, const Json& state, std::vector<HostTensor>) override {
    monitor_.restore_best(state.at("best"));
    batches_ = state.at("batches").get<int64_t>();
    epoch_ = state.at("epoch").get<int64_t>();
  }

 private:
  void save(TrainingControl& training, std::optional<int64_t> batch, const Logs& logs) {
    const std::string path = path_for(batch, logs);
    if (c_.save_best_only) {
      const double current = monitor_.value(logs);
      if (!monitor_.improves(current)) return;
      training.log(epoch_message(
          epoch_, fmt::format("{} improved from {} to {:.5f}, saving model to {}", monitor_.name(),
                              monitor_.best() ? fmt::format("{:.5f}", *monitor_.best()) : "none",
                              current, path)));
      monitor_.set_best(current);
    }
    if (const auto folder = std::filesystem::path(path).parent_path(); !folder.empty())
      make_folder(folder);
    if (c_.save_weights_only)
      training.save_weights(path);
    else
      training.save(path);
  }

  /// Fills {epoch:02d}, {batch} and {val_loss:.2f} in.
  std::string path_for(std::optional<int64_t> batch, const Logs& logs) const {
    std::string path;
    for (size_t at = 0; at < c_.filepath.size();) {
      const size_t open = c_.filepath.find('{', at);
      path += c_.filepath.substr(at, open - at);
      if (open == std::string::npos) break;
      const size_t close = c_.filepath.find('}', open);
      if (close == std::string::npos)
        invalid_argument(class_name(), "filepath has a {{ without }}: \"{}\"", c_.filepath);
      path += filled(c_.filepath.substr(open + 1, close - open - 1), batch, logs);
      at = close + 1;
    }
    return path;
  }

  std::string filled(const std::string& field, std::optional<int64_t> batch,
                     const Logs& logs) const {
    const size_t colon = std::min(field.find(':'), field.size());
    const std::string name = field.substr(0, colon),
                      format = fmt::format("{{{}}}", field.substr(colon));
    try {
      if (name == "epoch") return fmt::format(fmt::runtime(format), epoch_ + 1);
      if (name == "batch" && batch) return fmt::format(fmt::runtime(format), *batch + 1);
      return fmt::format(fmt::runtime(format),
                         monitored(logs, name, fmt::format("{}: {}", class_name(), c_.filepath)));
    } catch (const fmt::format_error& error) {
      invalid_argument(class_name(), "filepath \"{}\" cannot be filled in: {} in {{{}}}",
                       c_.filepath, error.what(), field);
    }
  }

  ModelCheckpointConfig c_;
  Monitor monitor_;
  int64_t batches_ = 0;  // since the last save
  int64_t epoch_ = 0;
};

}  // namespace

CallbackPtr ModelCheckpoint(ModelCheckpointConfig config) {
  return std::make_shared<ModelCheckpointCallback>(std::move(config));
}

}  // namespace lockstep
