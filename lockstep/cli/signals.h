// SIGINT, SIGTERM and SIGHUP ask training to stop; a second one stops at once.
#pragma once

namespace lockstep {

/// Catches the signals while it lives. One at a time.
class StopSignals {
 public:
  StopSignals();
  ~StopSignals();
  StopSignals(const StopSignals&) = delete;
  StopSignals& operator=(const StopSignals&) = delete;

  /// The signal that came, or 0.
  int received() const;
};

}  // namespace lockstep
