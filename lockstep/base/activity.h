// What each thread is busy with, so that a message about vendor code that never came back, or died,
// can say where.
#pragma once

#include <fmt/format.h>

#include <string>
#include <string_view>

namespace lockstep {

/// Says what the calling thread does until the end of the scope: Activity step("training step {}",
/// n). Scopes nest. Costs a short formatting and no allocation.
class Activity {
 public:
  template <class... Args>
  explicit Activity(fmt::format_string<Args...> format, Args&&... args) {
    char text[kLongest];
    const auto end = fmt::format_to_n(text, kLongest, format, std::forward<Args>(args)...);
    begin({text, std::min(end.size, kLongest)});
  }
  ~Activity();
  Activity(const Activity&) = delete;
  Activity& operator=(const Activity&) = delete;

  static constexpr size_t kLongest = 160;

 private:
  void begin(std::string_view text);
};

/// An activity that belongs to foreign code, which must come back within the limit: when it does
/// not, one line on stderr names every thread's activity and the process ends with exit code 70,
/// since a call that hangs can neither be undone nor left behind. LOCKSTEP_VENDOR_TIMEOUT: the
/// limit in seconds; 900 where it is not set, 0 for none.
class VendorCall {
 public:
  explicit VendorCall(std::string_view what);
  ~VendorCall();

 private:
  Activity activity_;
};

/// "training step 7; device 1: running tower_32 (plugin ...)": threads in the order in which they
/// began, "" when all are idle.
std::string describe_activities();

/// The same, written to stderr after `prefix`, for signal handlers: no allocation, no locks. Writes
/// nothing unless some thread is inside a VendorCall.
void write_vendor_activities(const char* prefix) noexcept;

}  // namespace lockstep
