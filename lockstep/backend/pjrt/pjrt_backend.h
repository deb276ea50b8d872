// Accelerators, and XLA on the CPU, through PJRT plugins.
#pragma once

#include <memory>
#include <string_view>
#include <vector>

#include "lockstep/backend/backend.h"

namespace lockstep {

/// Devices of `kind` ("cuda", "rocm", "sycl", "tpu", "xla_cpu"); device k of a team is the plugin's
/// device indices[k], or k where `indices` is empty. An index may repeat. Throws NotFound where no
/// plugin is installed (naming where it was looked for and what would bring it) or an index has no
/// device.
std::unique_ptr<Backend> make_pjrt_backend(std::string_view kind, int count,
                                           const std::vector<int>& indices);

/// Devices that the kind's plugin finds. Throws as make_pjrt_backend.
int count_pjrt_devices(std::string_view kind);

/// What `lockstep devices` says of a kind.
struct PjrtKindReport {
  int count = 0;            // devices that can be used
  std::string description;  // the devices, or why there are none and what would bring them
};
PjrtKindReport report_pjrt_kind(std::string_view kind);

}  // namespace lockstep
