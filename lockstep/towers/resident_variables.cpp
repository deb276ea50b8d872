#include "lockstep/towers/resident_variables.h"

namespace lockstep {

ResidentVariables::ResidentVariables(const DeviceMemory& memory, int devices,
                                     std::vector<Entry> entries)
    : memory_(memory), entries_(std::move(entries)) {
  for (size_t i = 0; i < entries_.size(); ++i) positions_[entries_[i].offset] = i;
  tensors_.assign(static_cast<size_t>(devices), std::vector<DeviceTensorPtr>(entries_.size()));
}

void ResidentVariables::upload(int device, const float* space) {
  for (size_t i = 0; i < entries_.size(); ++i)
    tensors_[static_cast<size_t>(device)][i] =
        memory_.upload(space + entries_[i].offset, {DType::kF32, entries_[i].shape}, device);
}

void ResidentVariables::download(float* space) const {
  std::vector<DeviceMemory::Download> downloads;
  for (size_t i = 0; i < entries_.size(); ++i)
    downloads.push_back({tensors_[0][i], space + entries_[i].offset,
                         static_cast<size_t>(entries_[i].shape.size()) * sizeof(float)});
  memory_.download(downloads);
}

const DeviceTensorPtr& ResidentVariables::at(int device, int64_t offset) const {
  return tensors_[static_cast<size_t>(device)][positions_.at(offset)];
}

void ResidentVariables::set(int device, int64_t offset, DeviceTensorPtr tensor) {
  tensors_[static_cast<size_t>(device)][positions_.at(offset)] = std::move(tensor);
}

}  // namespace lockstep
