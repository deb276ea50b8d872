#include "lockstep/backend/pjrt/open_devices.h"

#include <map>
#include <mutex>

#include "lockstep/backend/pjrt/kind_settings.h"

namespace lockstep::pjrt {

std::shared_ptr<OpenDevices> OpenDevices::of(const PluginKind& kind) {
  static std::mutex mutex;
  static std::map<std::string, std::weak_ptr<OpenDevices>, std::less<>> all;
  std::lock_guard lock(mutex);
  std::weak_ptr<OpenDevices>& known = all[std::string(kind.kind)];
  std::shared_ptr<OpenDevices> devices = known.lock();
  if (devices != nullptr) return devices;
  const std::shared_ptr<Plugin> plugin = load_plugin(kind.kind);
  try {
    devices = std::make_shared<OpenDevices>(Client::create(plugin, client_options(kind.kind)));
  } catch (const Error& error) {
    // A plugin without its hardware, or with hardware that others hold.
    fail(error.code() == ErrorCode::kOutOfMemory ? error.code() : ErrorCode::kNotFound, "devices",
         "no {} device can be opened: {}", kind.kind, error.what());
  }
  known = devices;
  return devices;
}

}  // namespace lockstep::pjrt
