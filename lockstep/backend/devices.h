// Device strings, and the backend of a kind.
#pragma once

#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "lockstep/backend/backend.h"

namespace lockstep {

/// KIND, KIND:N, or KIND with indices (a comma or a dash: cpu:0-3, cuda:0,2). One kind a run. For
/// kinds of hardware a number alone is an index: cuda:1.
struct DeviceSpec {
  std::string kind;
  int count = 1;
  std::vector<int> indices;  // of cores or of the plugin's devices; empty: any
};

/// KIND alone is all of it: `cpu` one device a core of the process's affinity mask, `cuda` every
/// GPU of the plugin. Throws InvalidArgument for what is no device string (cpu:0 with a hint),
/// NotFound for cores, plugins and GPUs that are not here.
DeviceSpec parse_devices(const std::string& text);

/// Every kind of device, with the number that exists here and a description for `lockstep devices`.
struct DeviceKind {
  std::string kind, description;
  int count = 0;
};
std::vector<DeviceKind> device_kinds();

/// Does the backend of this kind compute in host memory, as `cpu` does?
bool is_host_kind(std::string_view kind);

std::unique_ptr<Backend> make_backend(const DeviceSpec& spec);

/// Cores of the process's affinity mask.
std::vector<int> affinity_cores();

}  // namespace lockstep
