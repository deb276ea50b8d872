#include "lockstep/train/variable_space.h"

#include <algorithm>
#include <cstring>

namespace lockstep {

VariableSpace::VariableSpace(std::vector<VariablePtr> variables)
    : variables_(std::move(variables)) {
  for (const VariablePtr& variable : variables_) {
    if (variable->dtype != DType::kF32)
      unsupported(variable->path, "variables must be float32: {}", dtype_name(variable->dtype));
    places_[variable.get()] = {size_, 0};
    size_ += round_up_16(variable->size());
  }
  storage_ = AlignedBytes(static_cast<size_t>(size_) * sizeof(float));
  for (const VariablePtr& variable : variables_) take_up(*variable);
}

int64_t VariableSpace::offset(const Variable& variable) const {
  const auto it = places_.find(&variable);
  LOCKSTEP_CHECK(it != places_.end());
  return it->second.offset;
}

bool VariableSpace::is_outdated() const {
  return std::any_of(variables_.begin(), variables_.end(), [&](const VariablePtr& variable) {
    return places_.at(variable.get()).seen_version != variable->version;
  });
}

void VariableSpace::pull() {
  for (const VariablePtr& variable : variables_)
    if (places_.at(variable.get()).seen_version != variable->version) take_up(*variable);
  touch();
}

void VariableSpace::take_up(Variable& variable) {
  const HostTensor& newest = variable.current();
  LOCKSTEP_CHECK(newest.size() == variable.size());
  Place& place = places_.at(&variable);
  std::memcpy(data() + place.offset, newest.bytes(), newest.size_bytes());
  place.seen_version = variable.version;
}

void VariableSpace::claim(Variable& variable, VariableHolder& holder) {
  variable.holder = &holder;
  places_.at(&variable).seen_version = ++variable.version;
}

void VariableSpace::settle(const VariableHolder& holder) {
  for (const VariablePtr& variable : variables_) {
    if (variable->holder != &holder) continue;
    if (variable->value.type() != TensorType{DType::kF32, variable->shape})
      variable->value = HostTensor(DType::kF32, variable->shape);
    std::memcpy(variable->value.bytes(), data() + offset(*variable), variable->value.size_bytes());
    variable->holder = nullptr;
  }
}

}  // namespace lockstep
