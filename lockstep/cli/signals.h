// SIGINT, SIGTERM and SIGHUP ask training to stop; a second one stops at once. And last words when
// foreign code brings the process down.
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

/// From now on, a crash while a thread is inside a vendor's code says on stderr what each thread was
/// doing before the process dies as it would have.
void name_vendor_crashes();

}  // namespace lockstep
