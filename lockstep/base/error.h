// The one exception type of the library, and the check for our own bugs.
//
// Message grammar:  [where] what must hold: what came (context). hint
#pragma once

#include <fmt/format.h>

#include <stdexcept>
#include <string>
#include <string_view>

namespace lockstep {

/// What kind of failure it is; the command line maps each to an exit code.
enum class ErrorCode {
  kInvalidArgument,  // exit 2: the caller's input is wrong
  kUnsupported,      // exit 3: valid, but Lockstep does not do it
  kOutOfMemory,      // exit 4
  kNotFound,         // exit 5: a file, device or key is missing
  kDataLoss,         // exit 6: a file is damaged
  kInternal,         // exit 70: our bug, or the vendor's
};

/// Process exit code of an error, as listed above.
int exit_code(ErrorCode code);

/// `text` as UTF-8 that a terminal shows: bytes that are no character, and control characters but
/// line breaks and tabs, as \\xNN.
std::string printable(std::string_view text);

class Error : public std::runtime_error {
 public:
  /// `where` names the op, layer, file or option; the what() is "[where] message", made printable:
  /// names may come from damaged files.
  Error(ErrorCode code, std::string_view where, std::string_view message);

  ErrorCode code() const { return code_; }

 private:
  ErrorCode code_;
};

/// Throws Error with a formatted message: `fail(ErrorCode::kInvalidArgument, "dense", "units must
/// be > 0: {}", n)`.
template <class... Args>
[[noreturn]] void fail(ErrorCode code, std::string_view where, fmt::format_string<Args...> format,
                       Args&&... args) {
  throw Error(code, where, fmt::format(format, std::forward<Args>(args)...));
}

template <class... Args>
[[noreturn]] void invalid_argument(std::string_view where, fmt::format_string<Args...> format,
                                   Args&&... args) {
  fail(ErrorCode::kInvalidArgument, where, format, std::forward<Args>(args)...);
}

template <class... Args>
[[noreturn]] void unsupported(std::string_view where, fmt::format_string<Args...> format,
                              Args&&... args) {
  fail(ErrorCode::kUnsupported, where, format, std::forward<Args>(args)...);
}

/// Runs `body`; an Error that escapes is rethrown with " (context)" appended to its message.
template <class Body>
auto with_context(std::string_view context, Body&& body) -> decltype(body()) {
  try {
    return body();
  } catch (const Error& error) {
    throw Error(error.code(), "", fmt::format("{} ({})", error.what(), context));
  }
}

[[noreturn]] void check_failed(const char* condition, const char* file, int line);

/// "did you mean": the candidate closest to `name` by edit distance, or "" when none is near.
template <class Range>
std::string closest_name(std::string_view name, const Range& candidates);

/// Levenshtein distance between two short names.
int edit_distance(std::string_view a, std::string_view b);

template <class Range>
std::string closest_name(std::string_view name, const Range& candidates) {
  std::string best;
  int best_distance = static_cast<int>(name.size()) / 3 + 2;
  for (const auto& candidate : candidates) {
    const int distance = edit_distance(name, candidate);
    if (distance < best_distance) {
      best_distance = distance;
      best = std::string(candidate);
    }
  }
  return best;
}

}  // namespace lockstep

/// Aborts the operation with kInternal when our own invariant is broken.
#define LOCKSTEP_CHECK(condition) \
  ((condition) ? (void)0 : ::lockstep::check_failed(#condition, __FILE__, __LINE__))
