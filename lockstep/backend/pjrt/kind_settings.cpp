#include "lockstep/backend/pjrt/kind_settings.h"

#include <cstdlib>

#include "lockstep/backend/pjrt/discovery.h"
#include "lockstep/base/log.h"

namespace lockstep::pjrt {
namespace {

/// XLA's thread pool on the CPU has as many threads as there are devices, and work is split by it:
/// a constant, so that bits depend neither on the devices in use nor on the machine's cores.
constexpr int kXlaCpuDevices = 8;

/// Of a GPU's memory, for tensors; the rest is for the vendor's libraries.
constexpr double kGpuMemoryFraction = 0.9;

}  // namespace

std::shared_ptr<Plugin> load_plugin(std::string_view kind) {
  const PluginKind* known = find_plugin_kind(kind);
  LOCKSTEP_CHECK(known != nullptr);
  const PluginSearch search = find_plugin(*known);
  if (search.path.empty())
    fail(ErrorCode::kNotFound, "devices", "{} devices ({}) need a PJRT plugin: none in {}. {}",
         kind, known->hardware, fmt::join(search.looked, ", "), known->pip_install);
  // What plugins log is for those who ask for it; errors come back as values all the same.
  if (verbose_level() == 0) setenv("TF_CPP_MIN_LOG_LEVEL", "3", 0);
  // The pool is not made larger for machines with more cores. Read when the plugin is loaded.
  if (kind == "xla_cpu") setenv("PJRT_NPROC", "1", 1);
  try {
    return Plugin::load(search.path);
  } catch (const Error& error) {
    if (search.variable.empty()) throw;
    fail(error.code(), search.variable, "must name a plugin's file: {}", error.what());
  }
}

std::vector<PluginOption> client_options(std::string_view kind) {
  if (kind == "xla_cpu")
    // Programs run on the thread that asks for them, as a device's thread does.
    return {{"cpu_device_count", int64_t{kXlaCpuDevices}}, {"asynchronous", false}};
  if (kind == "cuda" || kind == "rocm")
    return {{"platform_name", std::string(kind)}, {"memory_fraction", kGpuMemoryFraction}};
  return {};
}

std::vector<Flag> compile_flags(std::string_view kind) {
  if (kind == "xla_cpu")
    return {{"xla_cpu_enable_fast_math", false},
            {"xla_cpu_enable_fast_min_max", false},
            {"xla_cpu_multi_thread_eigen", false}};
  if (kind == "cuda" || kind == "rocm")
    return {{"xla_gpu_deterministic_ops", true}, {"xla_allow_excess_precision", false}};
  return {};
}

}  // namespace lockstep::pjrt
