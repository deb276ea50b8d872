// A PJRT plugin: a shared library that knows one kind of device. Loaded at run time, never linked.
#pragma once

#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "lockstep/backend/pjrt/abi.h"
#include "lockstep/base/error.h"

namespace lockstep::pjrt {

/// Arguments of one call: zeroed, with zeroed room behind them for fields of newer versions.
template <class Args>
struct Call {
  Args args{};
  std::byte room[64]{};
  Args* operator->() { return &args; }
};

/// What a plugin's error means here: RESOURCE_EXHAUSTED -> kOutOfMemory, UNIMPLEMENTED ->
/// kUnsupported, INVALID_ARGUMENT and OUT_OF_RANGE -> kInvalidArgument, NOT_FOUND -> kNotFound,
/// DATA_LOSS -> kDataLoss, all others kInternal.
ErrorCode error_code(abi::ErrorCode code);
std::string_view error_name(abi::ErrorCode code);

class Plugin : public std::enable_shared_from_this<Plugin> {
 public:
  /// Loads and initialises. Throws NotFound where the file is missing, Unsupported where it is no
  /// plugin or speaks another version, each naming the file and the loader's or plugin's words.
  /// One file is loaded once a process; a loaded plugin is never unloaded (none survives it).
  static std::shared_ptr<Plugin> load(const std::string& path);

  const std::string& path() const { return path_; }
  int minor_version() const { return api_->version.minor; }
  /// "PJRT 0.115, xla ..., stablehlo 1.20.0": what Plugin_Attributes tells.
  const std::string& description() const { return description_; }

  bool has(abi::Function function) const;

  /// Calls a function; throws Error with the plugin's own words, `what` naming our doing.
  template <class Args>
  void call(Call<Args>& arguments, std::string_view what) const {
    using F = abi::FunctionOf<Args>;
    call_bytes(F::kFunction, F::kName, &arguments, F::kSize, sizeof(Call<Args>), what);
  }
  /// The same where nothing can be thrown: destructors. Errors are traced.
  template <class Args>
  void call_quietly(Call<Args>& arguments) const noexcept {
    try {
      call(arguments, "cleaning up");
    } catch (const std::exception& error) {
      trace_error(error.what());
    }
  }
  /// Throws what an error says and destroys it; does nothing for null.
  void check(abi::Error* error, const char* function, std::string_view what) const;

 private:
  explicit Plugin(std::string path) : path_(std::move(path)) {}
  void open();
  void describe();
  void call_bytes(abi::Function function, const char* name, void* arguments, size_t size,
                  size_t room, std::string_view what) const;
  abi::Error* invoke(abi::Function function, void* arguments) const;
  std::string message(abi::Error* error) const;
  void destroy(abi::Error* error) const;
  static void trace_error(const char* text) noexcept;

  std::string path_, description_;
  const abi::Api* api_ = nullptr;
};

}  // namespace lockstep::pjrt
