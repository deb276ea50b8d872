#include "lockstep/towers/device_team.h"

#include <pthread.h>
#include <sched.h>

#include "lockstep/backend/devices.h"

namespace lockstep {

DeviceTeam::DeviceTeam(const Backend& backend, int devices, const std::vector<int>& indices)
    : backend_(backend), barrier_(devices) {
  const std::vector<int> cores = indices.empty() ? affinity_cores() : indices;
  // More devices than cores: the scheduler shares them out better than pins would. One device is
  // left to the scheduler too, so that two one-device processes do not meet on one core.
  const bool pin = devices > 1 && devices <= static_cast<int>(cores.size());
  for (int device = 0; device < devices; ++device)
    threads_.emplace_back(
        [this, device, core = pin ? cores[device] : -1] { thread_main(device, core); });
}

DeviceTeam::~DeviceTeam() {
  {
    std::lock_guard lock(mutex_);
    stopping_ = true;
  }
  wake_.notify_all();
  for (std::thread& thread : threads_) thread.join();
}

void DeviceTeam::thread_main(int device, int core) {
  if (core >= 0) {
    cpu_set_t mask;
    CPU_ZERO(&mask);
    CPU_SET(core, &mask);
    pthread_setaffinity_np(pthread_self(), sizeof mask, &mask);
  }
  backend_.enter_device_thread();
  uint64_t done = 0;
  std::unique_lock lock(mutex_);
  for (;;) {
    wake_.wait(lock, [&] { return stopping_ || generation_ != done; });
    if (stopping_) return;
    done = generation_;
    const auto* job = job_;
    lock.unlock();
    // Not in guard, which would pass over the job where another device has failed already: that one
    // waits for all at its next `arrive`.
    try {
      (*job)(device);
    } catch (...) {
      record_failure(device);
    }
    lock.lock();
    if (--running_ == 0) finished_.notify_one();
  }
}

void DeviceTeam::run(const std::function<void(int)>& job) {
  std::unique_lock lock(mutex_);
  failed_ = false;
  failure_ = nullptr;
  failed_device_ = -1;
  job_ = &job;
  running_ = size();
  ++generation_;
  wake_.notify_all();
  finished_.wait(lock, [&] { return running_ == 0; });
  if (failure_) std::rethrow_exception(failure_);
}

void DeviceTeam::record_failure(int device) {
  std::lock_guard lock(mutex_);
  if (failed_device_ < 0 || device < failed_device_) {
    failed_device_ = device;
    failure_ = std::current_exception();
  }
  failed_.store(true, std::memory_order_release);
}

}  // namespace lockstep
