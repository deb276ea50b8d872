// The variable space in the memory of every device: one tensor a variable and device.
#pragma once

#include <unordered_map>
#include <vector>

#include "lockstep/backend/backend.h"

namespace lockstep {

class ResidentVariables {
 public:
  struct Entry {
    int64_t offset;  // elements, in the host's variable space
    Shape shape;     // of f32
  };
  ResidentVariables(const DeviceMemory& memory, int devices, std::vector<Entry> entries);

  /// Copies all variables from the host's space to one device.
  void upload(int device, const float* space);
  /// Copies all variables from device 0 into the host's space; waits for them.
  void download(float* space) const;

  const DeviceTensorPtr& at(int device, int64_t offset) const;
  void set(int device, int64_t offset, DeviceTensorPtr tensor);

 private:
  const DeviceMemory& memory_;
  std::vector<Entry> entries_;
  std::unordered_map<int64_t, size_t> positions_;      // by offset
  std::vector<std::vector<DeviceTensorPtr>> tensors_;  // [device][position]
};

}  // namespace lockstep
