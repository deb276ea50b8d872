// Where the library's words go. It writes to stderr what LOCKSTEP_VERBOSE asks for and warnings, and
// to stdout only the progress of a fit that was given no sink.
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <string_view>

namespace lockstep {

/// Receives one line at a time, without its newline. May be called from several threads at once.
using LogSink = std::function<void(std::string_view line)>;

/// Level of LOCKSTEP_VERBOSE: 0 silent, 1 one line a compile and a phase, 2 one line an executed
/// kernel.
int verbose_level();

/// Writes a line to stderr: one of LOCKSTEP_VERBOSE, or a warning.
void trace(std::string_view line);

/// Seconds on a monotonic clock; the one clock of all timings.
double monotonic_seconds();

}  // namespace lockstep
