#include "lockstep/cli/signals.h"

#include <csignal>

#include "lockstep/base/activity.h"

namespace lockstep {
namespace {

constexpr int kSignals[] = {SIGINT, SIGTERM, SIGHUP};

volatile std::sig_atomic_t received_signal = 0;

void remember(int signal) {
  received_signal = signal;
  // The next one does what it does without us.
  for (int one : kSignals) std::signal(one, SIG_DFL);
}

constexpr int kCrashes[] = {SIGSEGV, SIGABRT, SIGBUS, SIGFPE, SIGILL};

void name_crash(int signal) {
  std::signal(signal, SIG_DFL);
  write_vendor_activities("lockstep: foreign code has crashed: ");
  std::raise(signal);
}

}  // namespace

void name_vendor_crashes() {
  for (int one : kCrashes) std::signal(one, name_crash);
}

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
