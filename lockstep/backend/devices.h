// Device strings, and the backend of a kind.
#pragma once

#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "lockstep/backend/backend.h"

namespace lockstep {

/// KIND, KIND:N, or KIND with indices (a comma or a dash: cpu:0-3, cpu:0,2). One kind a run.
struct DeviceSpec {
  std::string kind;
  int count = 1;
  std::vector<int> indices;  // of cores; empty: any
};

/// `cpu` alone is one device a core of the process's affinity mask. Throws InvalidArgument for what
/// is no device string (cpu:0 with a hint), Unsupported for kinds without a backend here.
DeviceSpec parse_devices(const std::string& text);

/// Every kind of device that exists here, with its number and a description for `lockstep devices`.
struct DeviceKind {
  std::string kind, description;
  int count = 0;
};
std::vector<DeviceKind> device_kinds();

std::unique_ptr<Backend> make_backend(std::string_view kind);

/// Cores of the process's affinity mask.
std::vector<int> affinity_cores();

}  // namespace lockstep
