#include "lockstep/base/log.h"

#include <chrono>
#include <cstdio>
#include <cstdlib>

namespace lockstep {

int verbose_level() {
  static const int level = [] {
    const char* text = std::getenv("LOCKSTEP_VERBOSE");
    return text == nullptr ? 0 : std::atoi(text);
  }();
  return level;
}

void trace(std::string_view line) {
  std::fprintf(stderr, "%.*s\n", static_cast<int>(line.size()), line.data());
}

double monotonic_seconds() {
  using Clock = std::chrono::steady_clock;
  return std::chrono::duration<double>(Clock::now().time_since_epoch()).count();
}

}  // namespace lockstep
