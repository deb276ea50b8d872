// Where the plugin of a kind of device lies on this machine.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace lockstep::pjrt {

/// A kind of device that a plugin brings.
struct PluginKind {
  std::string_view kind;         // "cuda", as in --devices
  std::string_view hardware;     // "NVIDIA GPUs"
  std::string_view pip_install;  // what brings it
  /// Paths below a Python site-packages folder; '*' stands for any text inside one name.
  std::vector<std::string_view> package_paths;
};
const std::vector<PluginKind>& plugin_kinds();
/// Null where no plugin could bring the kind.
const PluginKind* find_plugin_kind(std::string_view kind);

struct PluginSearch {
  std::string path;                 // of the plugin; "" where there is none
  std::string variable;             // that names it; "" where it was found
  std::vector<std::string> looked;  // variables and folders, in order
};

/// LOCKSTEP_PJRT_PLUGIN_<KIND>, then Python's site-packages (of the active virtual environment, of
/// Lockstep's own in the cache folder, of the user, of the system), then the system's library
/// folders as pjrt_plugin_<kind>.so. Throws NotFound where the variable names no file.
PluginSearch find_plugin(const PluginKind& kind);

}  // namespace lockstep::pjrt
