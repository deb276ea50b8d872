// The progress bar as Keras draws it.
#pragma once

#include <string>
#include <string_view>

#include "lockstep/base/log.h"
#include "lockstep/train/callback.h"

namespace lockstep {

/// "12/235 ━━━━━ 3s 14ms/step - accuracy: 0.7 - loss: 0.8": the running line on a terminal and,
/// when `is_last`, the finished one. `seconds` since the epoch began.
std::string progress_line(int64_t done, int64_t total, double seconds, const Logs& logs,
                          bool is_last);

/// "235/235 - 4s - 17ms/step - accuracy: 0.81 - loss: 0.5": one line an epoch, for pipes.
std::string epoch_line(int64_t steps, double seconds, const Logs& logs);

/// Where a training's words go: a sink, or standard output, on which a bar moves when it is a
/// terminal.
class ProgressDisplay {
 public:
  /// `verbose` as in FitArguments.
  ProgressDisplay(LogSink sink, int verbose);

  /// A line, whatever `verbose` is, and one that silence suppresses.
  void warn(std::string_view line) const;
  void log(std::string_view line) const;
  /// The clock of the bar and of the epoch's line.
  void begin_epoch();
  /// Whether the bar is to be drawn again: on a terminal, 20 times a second.
  bool is_due() const;
  void draw(int64_t done, int64_t total, const Logs& logs);
  /// `steps`: those done since `begin_epoch`.
  void end_epoch(int64_t done, int64_t total, int64_t steps, const Logs& logs) const;

 private:
  LogSink sink_;
  bool is_terminal_;
  int verbose_;
  double epoch_start_ = 0, drawn_ = 0;
};

}  // namespace lockstep
