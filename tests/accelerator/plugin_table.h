// Functions of XLA's plugin for the processor, replaced for one scope: to count calls, or to have
// one fail.
#pragma once

#include <dlfcn.h>

#include <functional>
#include <mutex>

#include "lockstep/backend/pjrt/abi.h"
#include "lockstep/backend/pjrt/kind_settings.h"

namespace lockstep {

/// While it lives, calls of the function that takes `Args` go to `body`, which may call on.
template <class Args>
class ReplacedFunction {
 public:
  using Body = std::function<pjrt::abi::Error*(Args&)>;

  explicit ReplacedFunction(Body body) {
    body_ = std::move(body);
    void* library = dlopen(pjrt::load_plugin("xla_cpu")->path().c_str(), RTLD_NOW | RTLD_LOCAL);
    const auto get_api = reinterpret_cast<pjrt::abi::Api* (*)()>(dlsym(library, "GetPjrtApi"));
    entry_ = &get_api()->functions[static_cast<size_t>(pjrt::abi::FunctionOf<Args>::kFunction)];
    plugins_own_ = reinterpret_cast<Function>(*entry_);
    *entry_ = reinterpret_cast<void*>(&replacement);
  }
  ~ReplacedFunction() { *entry_ = reinterpret_cast<void*>(plugins_own_); }
  ReplacedFunction(const ReplacedFunction&) = delete;
  ReplacedFunction& operator=(const ReplacedFunction&) = delete;

  static pjrt::abi::Error* call_on(Args& args) { return plugins_own_(&args); }
  /// An error of the plugin's own: it refuses arguments without a size.
  static pjrt::abi::Error* refuse(Args& args) {
    args.header.struct_size = 0;
    return plugins_own_(&args);
  }

 private:
  using Function = pjrt::abi::Error* (*)(Args*);
  static pjrt::abi::Error* replacement(Args* args) {
    std::lock_guard lock(mutex_);
    return body_(*args);
  }

  void** entry_;
  static inline Function plugins_own_;
  static inline Body body_;
  static inline std::mutex mutex_;
};

}  // namespace lockstep
