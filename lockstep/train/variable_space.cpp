#include "lockstep/train/variable_space.h"

#include <cstring>

namespace lockstep {

VariableSpace::VariableSpace(std::vector<VariablePtr> variables)
    : variables_(std::move(variables)) {
  for (const VariablePtr& variable : variables_) {
    if (variable->dtype != DType::kF32)
      unsupported(variable->path, "variables must be float32: {}", dtype_name(variable->dtype));
    offsets_[variable.get()] = size_;
    size_ += round_up_16(variable->size());
  }
  storage_ = AlignedBytes(static_cast<size_t>(size_) * sizeof(float));
  load();
}

int64_t VariableSpace::offset(const Variable& variable) const {
  const auto it = offsets_.find(&variable);
  LOCKSTEP_CHECK(it != offsets_.end());
  return it->second;
}

void VariableSpace::store() const {
  for (const VariablePtr& variable : variables_) {
    if (variable->value.type() != TensorType{DType::kF32, variable->shape})
      variable->value = HostTensor(DType::kF32, variable->shape);
    std::memcpy(variable->value.bytes(), data() + offset(*variable), variable->value.size_bytes());
  }
}

void VariableSpace::load() {
  for (const VariablePtr& variable : variables_) {
    LOCKSTEP_CHECK(variable->value.size() == variable->size());
    std::memcpy(data() + offset(*variable), variable->value.bytes(), variable->value.size_bytes());
  }
  touch();
}

}  // namespace lockstep
