#include "lockstep/train/progress.h"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <utility>

namespace lockstep {
namespace {

constexpr int64_t kWidth = 20;

std::string number(double value) {
  if (std::abs(value) > 1e-3 || value == 0) return fmt::format("{:.4f}", value);
  return fmt::format("{:.4e}", value);
}

std::string values(const Logs& logs) {
  // Keras reports by name, validation after training.
  Logs sorted = logs;
  std::sort(sorted.begin(), sorted.end(), [](const auto& a, const auto& b) {
    const bool a_is_val = a.first.starts_with("val_"), b_is_val = b.first.starts_with("val_");
    return a_is_val != b_is_val ? b_is_val : a.first < b.first;
  });
  std::string text;
  for (const auto& [name, value] : sorted) text += fmt::format(" - {}: {}", name, number(value));
  return text;
}

std::string a_step(double seconds) {
  if (seconds >= 1) return fmt::format("{:.0f}s/step", seconds);
  if (seconds >= 1e-3) return fmt::format("{:.0f}ms/step", seconds * 1e3);
  return fmt::format("{:.0f}us/step", seconds * 1e6);
}

std::string duration(double seconds) {
  const auto whole = static_cast<int64_t>(std::lround(seconds));
  if (whole >= 3600)
    return fmt::format("{}:{:02}:{:02}", whole / 3600, whole / 60 % 60, whole % 60);
  if (whole >= 60) return fmt::format("{}:{:02}", whole / 60, whole % 60);
  return fmt::format("{}s", whole);
}

}  // namespace

std::string progress_line(int64_t done, int64_t total, double seconds, const Logs& logs,
                          bool is_last) {
  const double step = done > 0 ? seconds / static_cast<double>(done) : 0;
  const int64_t filled = total > 0 ? kWidth * done / total : kWidth;
  std::string bar;
  for (int64_t i = 0; i < kWidth; ++i) bar += i < filled ? "\u2501" : "\u2500";
  const double shown = is_last ? seconds : step * static_cast<double>(total - done);
  return fmt::format("{}/{} {} {} {}{}", done, total, bar, duration(shown), a_step(step),
                     values(logs));
}

std::string epoch_line(int64_t steps, double seconds, const Logs& logs) {
  return fmt::format("{}/{} - {} - {}{}", steps, steps, duration(seconds),
                     a_step(steps > 0 ? seconds / static_cast<double>(steps) : 0), values(logs));
}

ProgressDisplay::ProgressDisplay(LogSink sink, int verbose)
    : sink_(std::move(sink)),
      is_terminal_(!sink_ && isatty(STDOUT_FILENO) != 0),
      verbose_(verbose >= 0 ? verbose : (is_terminal_ ? 1 : 2)) {}

void ProgressDisplay::warn(std::string_view line) const {
  if (sink_) {
    sink_(line);
    return;
  }
  std::printf("%.*s\n", static_cast<int>(line.size()), line.data());
  std::fflush(stdout);
}

void ProgressDisplay::log(std::string_view line) const {
  if (verbose_ > 0) warn(line);
}

void ProgressDisplay::begin_epoch() {
  epoch_start_ = monotonic_seconds();
}

bool ProgressDisplay::is_due() const {
  return verbose_ == 1 && is_terminal_ && monotonic_seconds() - drawn_ >= 0.05;
}

void ProgressDisplay::draw(int64_t done, int64_t total, const Logs& logs) {
  drawn_ = monotonic_seconds();
  std::printf("\r%s\x1b[K", progress_line(done, total, drawn_ - epoch_start_, logs, false).c_str());
  std::fflush(stdout);
}

void ProgressDisplay::end_epoch(int64_t done, int64_t total, int64_t steps,
                                const Logs& logs) const {
  const double seconds = monotonic_seconds() - epoch_start_;
  if (verbose_ == 1 && is_terminal_) std::printf("\r");
  if (verbose_ == 1)
    log(progress_line(done, total, seconds, logs, true) + (is_terminal_ ? "\x1b[K" : ""));
  if (verbose_ == 2) log(epoch_line(steps, seconds, logs));
}

}  // namespace lockstep
