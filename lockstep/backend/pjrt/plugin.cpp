#include "lockstep/backend/pjrt/plugin.h"

#include <dlfcn.h>

#include <charconv>
#include <filesystem>
#include <map>
#include <mutex>

#include "lockstep/base/activity.h"
#include "lockstep/base/log.h"

namespace lockstep::pjrt {
namespace {

abi::Header& header(void* arguments) {
  return *static_cast<abi::Header*>(arguments);
}

/// The size that "Unexpected PJRT_X size: expected 88, got 72" asks for, or 0.
size_t expected_size(std::string_view message) {
  constexpr std::string_view kMark = "size: expected ";
  const size_t at = message.find(kMark);
  if (!message.starts_with("Unexpected PJRT_") || at == std::string_view::npos) return 0;
  size_t size = 0;
  std::from_chars(message.data() + at + kMark.size(), message.data() + message.size(), size);
  return size;
}

std::string attribute_text(const abi::NamedValue& attribute) {
  switch (attribute.type) {
    case abi::NamedValue::kString:
      return {attribute.string_value, attribute.value_size};
    case abi::NamedValue::kInt64:
      return fmt::format("{}", attribute.int64_value);
    case abi::NamedValue::kInt64List:
      return fmt::format("{}", fmt::join(attribute.int64_array_value,
                                         attribute.int64_array_value + attribute.value_size, "."));
    case abi::NamedValue::kFloat:
      return fmt::format("{}", attribute.float_value);
    case abi::NamedValue::kBool:
      return attribute.bool_value ? "yes" : "no";
  }
  return "";
}

}  // namespace

ErrorCode error_code(abi::ErrorCode code) {
  switch (code) {
    case abi::kResourceExhausted:
      return ErrorCode::kOutOfMemory;
    case abi::kUnimplemented:
      return ErrorCode::kUnsupported;
    case abi::kInvalidArgument:
    case abi::kOutOfRange:
      return ErrorCode::kInvalidArgument;
    case abi::kNotFound:
      return ErrorCode::kNotFound;
    case abi::kDataLoss:
      return ErrorCode::kDataLoss;
    default:
      return ErrorCode::kInternal;
  }
}

std::string_view error_name(abi::ErrorCode code) {
  constexpr std::string_view kNames[] = {"OK",
                                         "CANCELLED",
                                         "UNKNOWN",
                                         "INVALID_ARGUMENT",
                                         "DEADLINE_EXCEEDED",
                                         "NOT_FOUND",
                                         "ALREADY_EXISTS",
                                         "PERMISSION_DENIED",
                                         "RESOURCE_EXHAUSTED",
                                         "FAILED_PRECONDITION",
                                         "ABORTED",
                                         "OUT_OF_RANGE",
                                         "UNIMPLEMENTED",
                                         "INTERNAL",
                                         "UNAVAILABLE",
                                         "DATA_LOSS",
                                         "UNAUTHENTICATED"};
  const auto index = static_cast<size_t>(code);
  return index < std::size(kNames) ? kNames[index] : "an unknown code";
}

std::shared_ptr<Plugin> Plugin::load(const std::string& path) {
  static std::mutex mutex;
  static std::map<std::string, std::shared_ptr<Plugin>> loaded;
  std::lock_guard lock(mutex);
  std::error_code ignored;
  const std::string real = std::filesystem::weakly_canonical(path, ignored).string();
  std::shared_ptr<Plugin>& plugin = loaded[real.empty() ? path : real];
  if (plugin == nullptr) {
    std::shared_ptr<Plugin> opened(new Plugin(path));
    opened->open();
    plugin = std::move(opened);
  }
  return plugin;
}

void Plugin::open() {
  std::error_code ignored;
  if (!std::filesystem::exists(path_, ignored))
    fail(ErrorCode::kNotFound, "pjrt", "plugin not found: \"{}\"", path_);
  // The loader would look for a bare name in the system's folders.
  const std::string absolute = std::filesystem::absolute(path_).string();
  void* library = dlopen(absolute.c_str(), RTLD_NOW | RTLD_LOCAL);
  if (library == nullptr) unsupported("pjrt", "plugin cannot be loaded: {}", dlerror());
  const auto get_api = reinterpret_cast<const abi::Api* (*)()>(dlsym(library, "GetPjrtApi"));
  if (get_api == nullptr)
    unsupported("pjrt", "not a PJRT plugin, it has no GetPjrtApi: \"{}\"", path_);
  api_ = get_api();
  if (api_ == nullptr) unsupported("pjrt", "GetPjrtApi of \"{}\" returned nothing", path_);
  const auto& version = api_->version;
  if (version.major != abi::kMajorVersion || version.minor < abi::kOldestMinor)
    unsupported("pjrt", "plugins of PJRT 0.{} or newer 0.x work: \"{}\" is {}.{}",
                abi::kOldestMinor, path_, version.major, version.minor);
  Call<abi::PluginInitializeArgs> initialize;
  call(initialize, "initialising the plugin");
  describe();
}

void Plugin::describe() {
  description_ = fmt::format("PJRT {}.{}", api_->version.major, api_->version.minor);
  if (!has(abi::Function::kPluginAttributes)) return;
  Call<abi::PluginAttributesArgs> attributes;
  call(attributes, "reading the plugin's attributes");
  for (size_t i = 0; i < attributes->num_attributes; ++i) {
    const abi::NamedValue& attribute = attributes->attributes[i];
    const std::string_view name(attribute.name, attribute.name_size);
    if (name == "xla_version" || name == "stablehlo_current_version")
      description_ += fmt::format(", {} {}", name, attribute_text(attribute));
  }
}

bool Plugin::has(abi::Function function) const {
  const size_t end =
      offsetof(abi::Api, functions) + (static_cast<size_t>(function) + 1) * sizeof(void*);
  return end <= api_->header.struct_size &&
         api_->functions[static_cast<size_t>(function)] != nullptr;
}

abi::Error* Plugin::invoke(abi::Function function, void* arguments) const {
  using Any = abi::Error* (*)(void*);
  return reinterpret_cast<Any>(api_->functions[static_cast<size_t>(function)])(arguments);
}

void Plugin::call_bytes(abi::Function function, const char* name, void* arguments, size_t size,
                        size_t room, std::string_view what) const {
  if (!has(function))
    unsupported("pjrt", "{}: the plugin has no {}: \"{}\" (PJRT 0.{})", what, name, path_,
                minor_version());
  const VendorCall activity(fmt::format("{} (plugin {})", what, path_));
  header(arguments).struct_size = size;
  abi::Error* error = invoke(function, arguments);
  if (error == nullptr) return;
  // A newer plugin counts fields that it would read as zero: it may have them.
  const std::string words = message(error);
  const size_t wanted = expected_size(words);
  if (wanted > room) {
    destroy(error);
    unsupported("pjrt", "{}: {} of a plugin newer than Lockstep: {} (plugin \"{}\", PJRT 0.{})",
                what, name, words, path_, minor_version());
  }
  if (wanted > size) {
    destroy(error);
    header(arguments).struct_size = wanted;
    error = invoke(function, arguments);
  }
  check(error, name, what);
}

std::string Plugin::message(abi::Error* error) const {
  abi::ErrorMessageArgs args{};
  args.header.struct_size = abi::FunctionOf<abi::ErrorMessageArgs>::kSize;
  args.error = error;
  invoke(abi::Function::kErrorMessage, &args);
  return args.message == nullptr ? "" : std::string(args.message, args.message_size);
}

void Plugin::destroy(abi::Error* error) const {
  abi::ErrorDestroyArgs args{};
  args.header.struct_size = abi::FunctionOf<abi::ErrorDestroyArgs>::kSize;
  args.error = error;
  invoke(abi::Function::kErrorDestroy, &args);
}

void Plugin::check(abi::Error* error, const char* function, std::string_view what) const {
  if (error == nullptr) return;
  abi::ErrorGetCodeArgs code{};
  code.header.struct_size = abi::FunctionOf<abi::ErrorGetCodeArgs>::kSize;
  code.error = error;
  code.code = abi::kUnknown;
  abi::Error* second = invoke(abi::Function::kErrorGetCode, &code);
  if (second != nullptr) destroy(second);
  std::string words = message(error);
  destroy(error);
  // Stack traces and dumps that follow the first words are for LOCKSTEP_VERBOSE.
  if (verbose_level() == 0 && words.size() > 600) words = words.substr(0, 600) + " ...";
  fail(error_code(code.code), "pjrt", "{}: {} failed with {}: {} (plugin \"{}\")", what, function,
       error_name(code.code), words, path_);
}

void Plugin::trace_error(const char* text) noexcept {
  if (verbose_level() > 0) trace(text);
}

}  // namespace lockstep::pjrt
