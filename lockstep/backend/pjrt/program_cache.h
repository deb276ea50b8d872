// Programs by what they are made from: what is alike in everything is compiled once.
#pragma once

#include <algorithm>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

namespace lockstep::pjrt {

/// Safe from several threads; different programs are compiled side by side.
template <class Program>
class ProgramCache {
 public:
  /// Keeps programs that nobody else holds, the last used ones, so many.
  explicit ProgramCache(size_t most_unused) : most_unused_(most_unused) {}

  /// The program of `source`, where it is still here; else what `compile` makes.
  template <class Compile>
  std::shared_ptr<Program> get(const std::string& source, Compile&& compile) {
    const std::shared_ptr<Entry> entry = find(source);
    std::lock_guard lock(entry->mutex);
    if (entry->program == nullptr) entry->program = compile();
    return entry->program;
  }

 private:
  struct Entry {
    std::mutex mutex;
    std::shared_ptr<Program> program;
    uint64_t last_use = 0;
  };
  using Entries = std::map<std::string, std::shared_ptr<Entry>>;

  std::shared_ptr<Entry> find(const std::string& source) {
    std::lock_guard lock(mutex_);
    std::shared_ptr<Entry>& entry = entries_[source];
    if (entry == nullptr) {
      drop_unused();
      entry = std::make_shared<Entry>();
    }
    entry->last_use = ++uses_;
    return entry;
  }

  void drop_unused() {
    std::vector<typename Entries::iterator> unused;
    for (auto at = entries_.begin(); at != entries_.end(); ++at) {
      // One that is asked for now, or held by somebody, is in use.
      if (at->second == nullptr || at->second.use_count() > 1) continue;
      std::lock_guard lock(at->second->mutex);
      if (at->second->program.use_count() <= 1) unused.push_back(at);
    }
    std::sort(unused.begin(), unused.end(), [](const auto& a, const auto& b) {
      return a->second->last_use < b->second->last_use;
    });
    for (size_t i = 0; i + most_unused_ < unused.size(); ++i) entries_.erase(unused[i]);
  }

  const size_t most_unused_;
  std::mutex mutex_;
  Entries entries_;
  uint64_t uses_ = 0;
};

}  // namespace lockstep::pjrt
