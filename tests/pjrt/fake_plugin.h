// How tests steer fake_plugin.cpp and what they learn of it. Each copy of the library's file has a
// state of its own; lockstep_fake_plugin() gives it.
#pragma once

#include <array>
#include <atomic>
#include <string>

#include "lockstep/backend/pjrt/abi.h"

namespace lockstep::pjrt::fake {

/// Entries of the table that the plugin claims to have: some more than Lockstep knows.
constexpr size_t kTableSize = 140;

enum Kind : size_t {
  kErrors,
  kEvents,
  kClients,
  kBuffers,
  kExecutables,
  kLoadedExecutables,
  kSerializedExecutables,
  kTopologies,
  kKinds
};

/// How a function misbehaves.
struct Fault {
  std::atomic<int> code{abi::kOk};      // refuses with this error
  std::atomic<size_t> wanted_size{0};   // refuses smaller argument structs; 0: as long as ours
  std::atomic<bool> is_missing{false};  // a null entry
  std::atomic<bool> hangs{false};
};

struct Control {
  // -- what GetPjrtApi returns, each time anew in the same place
  bool has_no_api = false;
  int major_version = 0, minor_version = 115;
  size_t table_size = kTableSize;  // entries below this exist

  // -- what functions do
  std::array<Fault, kTableSize> faults;
  std::string words = "the fake was told to refuse";  // of errors
  std::atomic<size_t> wanted_execute_options{112};
  std::atomic<int> event_code{abi::kOk};         // downloads and readiness come with this error
  std::atomic<int> event_delay_milliseconds{0};  // from another thread; 0: at once

  // -- what happened
  std::array<std::atomic<int64_t>, kTableSize> calls{};
  std::array<std::atomic<int64_t>, kKinds> created{}, destroyed{};
  std::atomic<int64_t> misused{0};  // objects that were destroyed twice or used afterwards

  Fault& fault(abi::Function function) { return faults[static_cast<size_t>(function)]; }
  int64_t calls_of(abi::Function function) const { return calls[static_cast<size_t>(function)]; }
};

}  // namespace lockstep::pjrt::fake
