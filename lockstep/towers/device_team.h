// One thread a device, started once; each job runs on all of them together.
#pragma once

#include <atomic>
#include <barrier>
#include <condition_variable>
#include <exception>
#include <functional>
#include <mutex>
#include <thread>
#include <vector>

#include "lockstep/backend/backend.h"

namespace lockstep {

/// The threads inside one process among which a step is spread: the transport of sums and weights
/// is shared memory and a barrier.
class DeviceTeam {
 public:
  /// Threads are pinned to the cores of `indices`, or else inside the process's affinity mask, when
  /// there are enough cores for them.
  DeviceTeam(const Backend& backend, int devices, const std::vector<int>& indices = {});
  ~DeviceTeam();

  int size() const { return static_cast<int>(threads_.size()); }

  /// Runs `job(device)` on every device and returns when all have finished. The first exception of
  /// the lowest device is rethrown here; jobs must reach every `arrive` all the same (see
  /// failed()).
  void run(const std::function<void(int device)>& job);

  /// Called by every device inside a job: waits for all.
  void arrive() { barrier_.arrive_and_wait(); }
  /// Runs `body` unless a device of this job has failed; remembers an exception instead of
  /// throwing.
  template <class Body>
  void guard(int device, Body&& body) {
    if (failed_.load(std::memory_order_acquire)) return;
    try {
      body();
    } catch (...) {
      record_failure(device);
    }
  }

 private:
  void thread_main(int device, int core);
  void record_failure(int device);

  const Backend& backend_;
  std::barrier<> barrier_;
  std::atomic<bool> failed_{false};
  std::mutex mutex_;
  std::condition_variable wake_, finished_;
  const std::function<void(int)>* job_ = nullptr;
  uint64_t generation_ = 0;
  int running_ = 0;
  bool stopping_ = false;
  int failed_device_ = -1;
  std::exception_ptr failure_;
  std::vector<std::thread> threads_;
};

}  // namespace lockstep
