#include "lockstep/backend/pjrt/discovery.h"

#include <fnmatch.h>

#include <algorithm>
#include <cctype>
#include <cstdlib>
#include <cstring>
#include <filesystem>

#include "lockstep/base/error.h"

namespace lockstep::pjrt {
namespace {

namespace fs = std::filesystem;

std::string environment(const char* name) {
  const char* value = std::getenv(name);
  return value == nullptr ? "" : value;
}

/// Paths below `folder` that match `pattern`, part by part; the last in order first, numbers by
/// their value, so that the newer of two versions wins.
std::vector<fs::path> matches(const fs::path& folder, const fs::path& pattern) {
  std::vector<fs::path> found{folder};
  for (const fs::path& part : pattern) {
    std::vector<fs::path> next;
    for (const fs::path& parent : found) {
      if (part.string().find('*') == std::string::npos) {
        std::error_code error;
        if (fs::exists(parent / part, error)) next.push_back(parent / part);
        continue;
      }
      std::error_code error;
      for (const auto& entry : fs::directory_iterator(parent, error))
        if (fnmatch(part.c_str(), entry.path().filename().c_str(), 0) == 0)
          next.push_back(entry.path());
    }
    std::sort(next.begin(), next.end(), [](const fs::path& a, const fs::path& b) {
      return strverscmp(a.c_str(), b.c_str()) > 0;
    });
    found = std::move(next);
  }
  return found;
}

std::vector<std::string> python_folders() {
  std::vector<std::string> prefixes;
  const std::string home = environment("HOME"), cache = environment("XDG_CACHE_HOME");
  if (const std::string active = environment("VIRTUAL_ENV"); !active.empty())
    prefixes.push_back(active);
  // A relative path counts as none: the XDG Base Directory specification.
  if (cache.starts_with('/'))
    prefixes.push_back(cache + "/lockstep/pjrt");
  else if (!home.empty())
    prefixes.push_back(home + "/.cache/lockstep/pjrt");
  if (!home.empty()) prefixes.push_back(home + "/.local");
  prefixes.insert(prefixes.end(), {"/usr/local", "/usr"});
  std::vector<std::string> folders;
  for (const std::string& prefix : prefixes) {
    folders.push_back(prefix + "/lib/python3*/site-packages");
    if (prefix.starts_with("/usr")) folders.push_back(prefix + "/lib/python3*/dist-packages");
  }
  return folders;
}

constexpr std::string_view kSystemFolders[] = {"/usr/local/lib/pjrt", "/usr/lib/pjrt",
                                               "/opt/lockstep/lib"};

std::string variable_of(std::string_view kind) {
  std::string name = "LOCKSTEP_PJRT_PLUGIN_";
  for (char c : kind) name += static_cast<char>(std::toupper(static_cast<unsigned char>(c)));
  return name;
}

}  // namespace

const std::vector<PluginKind>& plugin_kinds() {
  static const std::vector<PluginKind> kinds = {
      {"cuda",
       "NVIDIA GPUs",
       "pip install \"jax-cuda13-plugin[with-cuda]\"",
       {"jax_plugins/xla_cuda*/xla_cuda_plugin.so"}},
      {"rocm",
       "AMD GPUs",
       "pip install jax-rocm7-pjrt",
       {"jax_plugins/xla_rocm*/xla_rocm_plugin.so"}},
      {"sycl",
       "Intel GPUs",
       "pip install intel-extension-for-openxla",
       {"jax_plugins/intel_extension_for_openxla/pjrt_plugin_xpu.so"}},
      {"tpu", "Google TPUs", "pip install libtpu", {"libtpu/libtpu.so"}},
      {"xla_cpu",
       "XLA on the processor, for tests",
       "pip install lammps-jax-pjrt-cpu",
       {"lammps_jax_pjrt_cpu/pjrt_c_api_cpu_plugin.so", "fastatomstruct_xla_cpu/libpjrt_cpu.so"}}};
  return kinds;
}

const PluginKind* find_plugin_kind(std::string_view kind) {
  for (const PluginKind& known : plugin_kinds())
    if (known.kind == kind) return &known;
  return nullptr;
}

PluginSearch find_plugin(const PluginKind& kind) {
  PluginSearch search;
  const std::string variable = variable_of(kind.kind);
  search.looked.push_back(variable);
  if (const std::string path = environment(variable.c_str()); !path.empty()) {
    std::error_code error;
    if (!fs::exists(path, error))
      fail(ErrorCode::kNotFound, variable, "must name a plugin's file: \"{}\" does not exist",
           path);
    search.path = path;
    search.variable = variable;
    return search;
  }
  const auto look = [&](const std::string& folder, std::string_view path) {
    const std::vector<fs::path> found =
        matches("/", fs::absolute(folder).relative_path() / fs::path(path));
    if (search.path.empty() && !found.empty()) search.path = found[0].string();
  };
  for (const std::string& folder : python_folders()) {
    search.looked.push_back(folder);
    for (std::string_view path : kind.package_paths) look(folder, path);
  }
  for (std::string_view folder : kSystemFolders) {
    search.looked.emplace_back(folder);
    look(std::string(folder), fmt::format("pjrt_plugin_{}.so", kind.kind));
  }
  return search;
}

}  // namespace lockstep::pjrt
