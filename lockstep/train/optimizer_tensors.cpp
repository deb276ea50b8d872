#include "lockstep/train/optimizer_tensors.h"

#include <algorithm>
#include <cstring>

namespace lockstep {

OptimizerTensors::OptimizerTensors(const StepLayout& layout, const Optimizer& optimizer)
    : layout_(layout), optimizer_name_(optimizer.class_name()), slot_specs_(optimizer.slots()) {
  const auto bytes = static_cast<size_t>(layout.gradients_size) * sizeof(float);
  for (const SlotSpec& slot : slot_specs_) {
    slots.emplace_back(bytes);
    float* data = reinterpret_cast<float*>(slots.back().data());
    for (size_t v = 0; v < layout.trainable.size(); ++v)
      std::fill_n(data + layout.gradient_offsets[v], layout.trainable[v]->size(),
                  static_cast<float>(slot.initial_value));
  }
  if (optimizer.common.use_ema) averages = AlignedBytes(bytes);
  if (optimizer.common.gradient_accumulation_steps) accumulators = AlignedBytes(bytes);
}

std::vector<AlignedBytes*> OptimizerTensors::all() {
  std::vector<AlignedBytes*> tensors;
  for (AlignedBytes* one : {&accumulators, &averages})
    if (one->size() > 0) tensors.push_back(one);
  for (AlignedBytes& slot : slots) tensors.push_back(&slot);
  return tensors;
}

/// Name, position among the gradients and place of every saved tensor, in the order of Keras's
/// files.
std::vector<OptimizerTensors::StateTensor> OptimizerTensors::state_tensors() const {
  std::vector<StateTensor> tensors;
  const auto add_all = [&](const AlignedBytes& storage, const std::string& suffix) {
    if (storage.size() == 0) return;
    for (size_t v = 0; v < layout_.trainable.size(); ++v) tensors.push_back({v, &storage, suffix});
  };
  add_all(averages, "average");
  add_all(accumulators, "gradient_accumulator");
  int groups = 0;
  for (const SlotSpec& slot : slot_specs_) groups = std::max(groups, slot.group + 1);
  for (int group = 0; group < groups; ++group)
    for (size_t v = 0; v < layout_.trainable.size(); ++v)
      for (size_t s = 0; s < slot_specs_.size(); ++s)
        if (slot_specs_[s].group == group) tensors.push_back({v, &slots[s], slot_specs_[s].name});
  return tensors;
}

std::vector<OptimizerVariable> OptimizerTensors::save() const {
  std::vector<OptimizerVariable> saved;
  for (const StateTensor& tensor : state_tensors()) {
    const Variable& variable = *layout_.trainable[tensor.variable];
    std::string name = variable.path + "_" + tensor.suffix;
    std::replace(name.begin(), name.end(), '/', '_');
    HostTensor value(DType::kF32, variable.shape);
    std::memcpy(value.bytes(),
                reinterpret_cast<const float*>(tensor.storage->data()) +
                    layout_.gradient_offsets[tensor.variable],
                value.size_bytes());
    saved.push_back({std::move(name), std::move(value)});
  }
  return saved;
}

void OptimizerTensors::load(const std::vector<OptimizerVariable>& saved) {
  const std::vector<StateTensor> tensors = state_tensors();
  if (tensors.size() != saved.size())
    invalid_argument("optimizer",
                     "{} keeps {} tensors for {} trainable variables: the state holds {}",
                     optimizer_name_, tensors.size(), layout_.trainable.size(), saved.size());
  for (size_t i = 0; i < saved.size(); ++i) {
    const Variable& variable = *layout_.trainable[tensors[i].variable];
    if (saved[i].value.shape() != variable.shape || !is_float(saved[i].value.dtype()))
      invalid_argument("optimizer", "{} of \"{}\" must be f32{}: {} came (tensor {})",
                       tensors[i].suffix, variable.path, variable.shape.str(),
                       saved[i].value.type().str(), i);
  }
  for (size_t i = 0; i < saved.size(); ++i) {
    const HostTensor value = saved[i].value.as(DType::kF32);
    std::memcpy(reinterpret_cast<float*>(tensors[i].storage->data()) +
                    layout_.gradient_offsets[tensors[i].variable],
                value.bytes(), value.size_bytes());
  }
}

}  // namespace lockstep
