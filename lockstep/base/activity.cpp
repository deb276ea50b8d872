#include "lockstep/base/activity.h"

#include <unistd.h>

#include <array>
#include <atomic>
#include <condition_variable>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <mutex>
#include <thread>
#include <vector>

#include "lockstep/base/log.h"

namespace lockstep {
namespace {

constexpr size_t kDeepest = 6;
constexpr size_t kMostThreads = 512;
constexpr int kExitCode = 70;

/// What one thread does. Threads beyond the table share no slot: they go unnamed.
struct Slot {
  std::atomic<bool> is_taken{false};
  std::mutex mutex;  // of what follows
  std::array<std::array<char, Activity::kLongest + 1>, kDeepest> texts{};
  size_t depth = 0;
  double vendor_since = 0;  // 0: not in foreign code
};

/// Never destroyed: threads may end after static objects do.
std::array<Slot, kMostThreads>& slots() {
  static auto* table = new std::array<Slot, kMostThreads>;
  return *table;
}

/// The calling thread's slot, given back when the thread ends.
class OwnSlot {
 public:
  OwnSlot() {
    for (Slot& slot : slots())
      if (!slot.is_taken.exchange(true)) {
        slot_ = &slot;
        return;
      }
  }
  ~OwnSlot() {
    if (slot_ != nullptr) slot_->is_taken = false;
  }
  Slot* get() { return slot_; }

 private:
  Slot* slot_ = nullptr;
};

Slot* own_slot() {
  thread_local OwnSlot slot;
  return slot.get();
}

double limit_seconds() {
  constexpr double kUsual = 900;
  const char* text = std::getenv("LOCKSTEP_VENDOR_TIMEOUT");
  if (text == nullptr) return kUsual;
  char* end = nullptr;
  const double seconds = std::strtod(text, &end);
  // What is no number must not switch the watch off.
  return end == text || *end != '\0' || !(seconds >= 0) ? kUsual : seconds;
}

void check_limit(double limit) {
  for (Slot& slot : slots()) {
    if (!slot.is_taken) continue;
    double since = 0;
    {
      std::lock_guard lock(slot.mutex);
      since = slot.vendor_since;
    }
    if (since == 0 || monotonic_seconds() - since < limit) continue;
    std::fprintf(stderr,
                 "lockstep: foreign code did not come back for %g s: %s. The process ends; a run "
                 "goes on from its last checkpoint with --resume. LOCKSTEP_VENDOR_TIMEOUT sets the "
                 "limit\n",
                 limit, describe_activities().c_str());
    std::_Exit(kExitCode);
  }
}

/// Looks at all slots some times in each limit, for as long as the process lives.
void start_watch() {
  static std::once_flag once;
  std::call_once(once, [] {
    const double limit = limit_seconds();
    if (limit <= 0) return;
    std::thread([limit] {
      const auto pause = std::chrono::duration<double>(std::min(limit / 4, 5.0));
      for (;;) {
        std::this_thread::sleep_for(pause);
        check_limit(limit);
      }
    }).detach();
  });
}

}  // namespace

void Activity::begin(std::string_view text) {
  Slot* slot = own_slot();
  if (slot == nullptr) return;
  std::lock_guard lock(slot->mutex);
  if (slot->depth < kDeepest) {
    auto& own = slot->texts[slot->depth];
    std::memcpy(own.data(), text.data(), text.size());
    own[text.size()] = '\0';
  }
  ++slot->depth;
}

Activity::~Activity() {
  Slot* slot = own_slot();
  if (slot == nullptr) return;
  std::lock_guard lock(slot->mutex);
  --slot->depth;
}

VendorCall::VendorCall(std::string_view what) : activity_("{}", what) {
  start_watch();
  if (Slot* slot = own_slot()) {
    std::lock_guard lock(slot->mutex);
    slot->vendor_since = monotonic_seconds();
  }
}

VendorCall::~VendorCall() {
  if (Slot* slot = own_slot()) {
    std::lock_guard lock(slot->mutex);
    slot->vendor_since = 0;
  }
}

std::string describe_activities() {
  std::string all;
  for (Slot& slot : slots()) {
    if (!slot.is_taken) continue;
    std::lock_guard lock(slot.mutex);
    for (size_t level = 0; level < std::min(slot.depth, kDeepest); ++level)
      all += fmt::format("{}{}",
                         level > 0     ? ": "
                         : all.empty() ? ""
                                       : "; ",
                         slot.texts[level].data());
  }
  return all;
}

void write_vendor_activities(const char* prefix) noexcept {
  const auto write_text = [](const char* text) {
    [[maybe_unused]] const auto written = ::write(STDERR_FILENO, text, std::strlen(text));
  };
  bool is_first = true, is_inside = false;
  // No lock: another thread may hold it for ever.
  for (Slot& slot : slots()) is_inside = is_inside || (slot.is_taken && slot.vendor_since > 0);
  if (!is_inside) return;
  write_text(prefix);
  for (Slot& slot : slots()) {
    if (!slot.is_taken) continue;
    for (size_t level = 0; level < std::min(slot.depth, kDeepest); ++level) {
      write_text(level > 0 ? ": " : is_first ? "" : "; ");
      write_text(slot.texts[level].data());
      is_first = false;
    }
  }
  write_text("\n");
}

}  // namespace lockstep
