#include "lockstep/cli/signals.h"

#include <csignal>

namespace lockstep {
namespace {

constexpr int kSignals[] = {SIGINT, SIGTERM, SIGHUP};

volatile std::sig_atomic_t received_signal = 0;

void remember(int signal) {
  received_signal = signal;
  // The next one does what it does without us.
  for (int one : kSignals) std::signal(one, SIG_DFL);
}

}  // namespace

StopSignals::StopSignals() {
  received_signal = 0;
  for (int one : kSignals) std::signal(one, remember);
}

StopSignals::~StopSignals() {
  for (int one : kSignals) std::signal(one, SIG_DFL);
}

int StopSignals::received() const {
  return received_signal;
}

}  // namespace lockstep
