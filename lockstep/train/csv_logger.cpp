#include <algorithm>

#include "lockstep/formats/files.h"
#include "lockstep/train/callbacks.h"

namespace lockstep {
namespace {

class CsvCallback : public Callback {
 public:
  explicit CsvCallback(CSVLoggerConfig config) : c_(std::move(config)) {}
  std::string_view class_name() const override { return "CSVLogger"; }
  bool watches_batches() const override { return false; }

  void on_train_begin(TrainingControl& training) override {
    columns_.clear();
    if (training.is_resumed()) return;
    std::error_code ignored;
    const bool goes_on = c_.append && std::filesystem::exists(c_.filename);
    if (!goes_on) write_file_atomically(c_.filename, "");
    bytes_ = std::filesystem::file_size(c_.filename, ignored);
    has_header_ = bytes_ > 0;
  }

  void on_epoch_end(TrainingControl&, int64_t epoch, Logs& logs) override {
    if (columns_.empty()) choose_columns(logs);
    std::string text;
    if (!has_header_) {
      text = "epoch";
      for (const std::string& column : columns_) text += c_.separator + column;
      text += '\n';
    }
    text += std::to_string(epoch);
    for (const std::string& column : columns_) text += c_.separator + value_of(logs, column);
    text += '\n';
    // On the disk before any checkpoint that counts the row.
    append_to_file(c_.filename, text);
    sync_file(c_.filename);
    has_header_ = true;
    bytes_ += text.size();
  }

  Json state() const override { return {{"bytes", bytes_}, {"columns", columns_}}; }

  void restore(TrainingControl& training, const Json& state, std::vector<HostTensor>) override {
    bytes_ = state.at("bytes").get<uint64_t>();
    columns_ = state.at("columns").get<std::vector<std::string>>();
    std::error_code error;
    const uint64_t there = std::filesystem::file_size(c_.filename, error);
    if (error || there < bytes_) {
      training.warn(fmt::format(
          "CSVLogger: {} has lost rows since the checkpoint; new ones are added", c_.filename));
      if (error) write_file_atomically(c_.filename, "");
      bytes_ = error ? 0 : there;
    } else if (there > bytes_) {
      cut_file(c_.filename, bytes_);
    }
    has_header_ = bytes_ > 0;
  }

 private:
  /// As Keras: room for validation that may come in a later epoch.
  void choose_columns(const Logs& logs) {
    for (const auto& [name, value] : logs) columns_.push_back(name);
    std::sort(columns_.begin(), columns_.end());
    const auto is_validation = [](const std::string& name) { return name.starts_with("val_"); };
    if (std::any_of(columns_.begin(), columns_.end(), is_validation)) return;
    for (size_t i = 0, n = columns_.size(); i < n; ++i) columns_.push_back("val_" + columns_[i]);
  }

  static std::string value_of(const Logs& logs, const std::string& column) {
    for (const auto& [name, value] : logs)
      if (name == column) return fmt::format("{}", value);
    return "NA";
  }

  CSVLoggerConfig c_;
  std::vector<std::string> columns_;
  uint64_t bytes_ = 0;  // of the file, as far as it is ours
  bool has_header_ = false;
};

}  // namespace

CallbackPtr CSVLogger(CSVLoggerConfig config) {
  return std::make_shared<CsvCallback>(std::move(config));
}

}  // namespace lockstep
