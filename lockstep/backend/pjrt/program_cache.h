// Programs by their whole text: what is alike in everything is compiled once.
#pragma once

#include <map>
#include <memory>
#include <mutex>
#include <string>

#include "lockstep/backend/backend.h"

namespace lockstep::pjrt {

/// Safe from several threads; different texts are compiled side by side.
class ProgramCache {
 public:
  /// The program of `text`, as long as somebody holds it; else what `compile` makes.
  template <class Compile>
  std::shared_ptr<DeviceProgram> get(const std::string& text, Compile&& compile) {
    Entry& entry = find(text);
    std::lock_guard lock(entry.mutex);
    std::shared_ptr<DeviceProgram> program = entry.program.lock();
    if (program == nullptr) entry.program = program = compile();
    return program;
  }

 private:
  struct Entry {
    std::mutex mutex;
    std::weak_ptr<DeviceProgram> program;
  };
  Entry& find(const std::string& text) {
    std::lock_guard lock(mutex_);
    return entries_[text];
  }

  std::mutex mutex_;
  std::map<std::string, Entry> entries_;
};

}  // namespace lockstep::pjrt
