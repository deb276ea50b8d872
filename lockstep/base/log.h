// Where the library's words go. It writes to stderr only what LOCKSTEP_VERBOSE asks for and what
// was left of a model file that was opened without a sink, to stdout only the progress of a fit
// that was given none.
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

/// Writes a line to stderr.
void trace(std::string_view line);

/// Seconds on a monotonic clock; the one clock of all timings.
double monotonic_seconds();

}  // namespace lockstep
