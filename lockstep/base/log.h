// Where the library's words go. Nothing in the library writes to stdout or stderr by itself.
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <string_view>

namespace lockstep {

/// Receives one line at a time, without its newline. May be called from several threads at once.
using LogSink = std::function<void(std::string_view line)>;

/// Level of LOCKSTEP_VERBOSE: 0 silent, 1 one line a compile and a phase, 2 one line an executed kernel.
int verbose_level();

/// Seconds on a monotonic clock; the one clock of all timings.
double monotonic_seconds();

}  // namespace lockstep
