#include "lockstep/io/legacy_optimizer.h"

#include <algorithm>
#include <array>
#include <map>
#include <set>

#include "lockstep/io/keras_config.h"
#include "lockstep/io/legacy_names.h"

namespace lockstep {
namespace {

constexpr std::string_view kGroup = "optimizer_weights";

struct SavedTensor {
  std::string name, path;
  Shape shape;
};

/// Slots by the names that Keras 2 gave them.
struct SlotName {
  std::string_view keras2, keras3;
};
constexpr std::array<SlotName, 13> kSlotNames = {{{"m", "momentum"},
                                                  {"v", "velocity"},
                                                  {"vhat", "velocity_hat"},
                                                  {"rms", "velocity"},
                                                  {"mg", "average_gradient"},
                                                  {"momentum", "momentum"},
                                                  {"velocity", "velocity"},
                                                  {"average_gradient", "average_gradient"},
                                                  {"accumulator", "accumulator"},
                                                  {"accum_grad", "accumulated_grad"},
                                                  {"accum_var", "accumulated_delta_var"},
                                                  {"accumulated_grad", "accumulated_grad"},
                                                  {"u", "norm"}}};

std::optional<std::string> slot_of(const std::string& name) {
  for (const auto& [keras2, keras3] : kSlotNames)
    if (name == keras2) return std::string(keras3);
  return std::nullopt;
}

/// A slot and whose it is, where the name says it: "Adam/dense/kernel/m:0" of tf.keras before 2.11,
/// "Adam/m/dense/kernel:0" since.
struct SlotTensor {
  std::string slot;
  WeightName variable;
  const SavedTensor* tensor;
};

std::optional<SlotTensor> named_slot(const SavedTensor& tensor) {
  WeightName name = parse_weight_name(tensor.name);
  if (name.scope.size() >= 3)
    if (const auto slot = slot_of(name.variable)) {
      WeightName variable{{name.scope.begin() + 1, name.scope.end() - 1}, name.scope.back()};
      return SlotTensor{*slot, std::move(variable), &tensor};
    }
  if (name.scope.size() >= 3)
    if (const auto slot = slot_of(name.scope[1]))
      return SlotTensor{
          *slot, {{name.scope.begin() + 2, name.scope.end()}, name.variable}, &tensor};
  return std::nullopt;
}

class LegacyOptimizerReader {
 public:
  LegacyOptimizerReader(const Hdf5Reader& h5, const std::string& where, const Network& network,
                        const Optimizer& optimizer, const std::string& keras_version)
      : h5_(h5),
        where_(where),
        optimizer_(optimizer),
        slots_(optimizer.slots()),
        is_keras3_(!is_older_version(keras_version, 3, 0)),
        is_slot_by_slot_(is_older_version(keras_version, 2, 11)) {
    const std::vector<VariablePtr> trainable = network.trainable_variables();
    const std::set<VariablePtr> wanted(trainable.begin(), trainable.end());
    for (ScopedVariable& v : scoped_variables(network))
      if (wanted.contains(v.variable)) variables_.push_back(std::move(v));
  }

  OptimizerState read() {
    list_tensors();
    OptimizerState state;
    read_scalars(state);
    // Keras 3 writes here what it writes into .keras files, in the same order.
    if (is_keras3_) {
      check_count();
      for (const SavedTensor& tensor : tensors_) add(state, tensor);
      return state;
    }
    if (optimizer_.common.use_ema)
      unsupported(where_, "averages of weights are in no known place in files of Keras 2");
    // Keras 2's SGD kept moments also where momentum is 0, and looked at none.
    if (slots_.empty()) return state;
    const auto by_slot = tensors_by_slot();
    for (const SavedTensor* tensor : in_order(by_slot)) add(state, *tensor);
    return state;
  }

 private:
  template <class... Args>
  [[noreturn]] void refuse(fmt::format_string<Args...> format, Args&&... args) const {
    invalid_argument(where_, format, std::forward<Args>(args)...);
  }

  void list_tensors() {
    const auto names = h5_.text_list_attribute(kGroup, "weight_names");
    if (!names) refuse("group \"/{}\" has no list of texts \"weight_names\"", kGroup);
    std::set<std::string> seen;
    for (const std::string& name : *names) {
      const std::string path = fmt::format("{}/{}", kGroup, name);
      if (!seen.insert(name).second || !h5_.has_dataset(path))
        refuse("\"{}\" is listed twice, or is no dataset, in group \"/{}\"", name, kGroup);
      tensors_.push_back({name, path, h5_.shape(path)});
    }
  }

  bool next_is_scalar(std::string_view part_of_name) const {
    return !tensors_.empty() && tensors_[0].shape.rank() == 0 &&
           (tensors_[0].name.find(part_of_name) != std::string::npos);
  }

  HostTensor take_first() {
    HostTensor tensor = h5_.read(tensors_.front().path);
    tensors_.erase(tensors_.begin());
    return tensor;
  }

  /// Keras 1 calls the number of iterations "Variable"; some optimizers of Keras 2 saved none.
  void read_scalars(OptimizerState& state) {
    if (next_is_scalar("iter") || next_is_scalar("Variable"))
      state.iterations = take_first().as(DType::kS64).data<int64_t>()[0];
    else
      refuse("the number of steps is not in the file");
    const LearningRate& rate = optimizer_.common.learning_rate;
    if (!rate.schedule) state.learning_rate = static_cast<float>(rate.value);
    if (next_is_scalar("learning_rate")) {
      const float stored = take_first().as(DType::kF32).data<float>()[0];
      if (!rate.schedule) state.learning_rate = stored;
    }
  }

  /// A file saved before the first step has no slots.
  void check_count() const {
    const OptimizerConfig& common = optimizer_.common;
    const size_t of_each =
        slots_.size() + (common.use_ema ? 1 : 0) + (common.gradient_accumulation_steps ? 1 : 0);
    if (!tensors_.empty() && tensors_.size() != of_each * variables_.size())
      refuse_count(of_each * variables_.size(), tensors_.size());
  }

  [[noreturn]] void refuse_count(size_t wanted, size_t came) const {
    refuse("{} keeps {} tensors for {} trainable variables: the file has {}",
           optimizer_.class_name(), wanted, variables_.size(), came);
  }

  using BySlot = std::map<std::string, std::vector<const SavedTensor*>>;

  BySlot tensors_by_slot() const {
    std::vector<SlotTensor> named;
    for (const SavedTensor& tensor : tensors_)
      if (auto slot = named_slot(tensor)) named.push_back(*std::move(slot));
    if (named.size() == tensors_.size() && !named.empty()) return by_name(named);
    if (!is_slot_by_slot_) refuse("names such as \"{}\" do not say whose it is", first_name());
    return by_position();
  }

  std::string first_name() const { return tensors_.empty() ? "" : tensors_[0].name; }

  BySlot by_name(const std::vector<SlotTensor>& named) const {
    std::map<std::string, std::vector<const SlotTensor*>> slots;
    for (const SlotTensor& tensor : named) slots[tensor.slot].push_back(&tensor);
    BySlot result;
    for (const auto& [slot, tensors] : slots) {
      if (tensors.size() != variables_.size())
        refuse("\"{}\" is there for {} variables: {} are trainable", slot, tensors.size(),
               variables_.size());
      std::vector<WeightName> names;
      for (const SlotTensor* tensor : tensors) names.push_back(tensor->variable);
      const auto match = match_by_name(names, variables_);
      std::vector<const SavedTensor*>& list = result[slot];
      list.resize(tensors.size());
      for (size_t i = 0; i < tensors.size(); ++i)
        list[match ? (*match)[i] : i] = tensors[i]->tensor;
    }
    return result;
  }

  /// All tensors of the first slot, then all of the second.
  BySlot by_position() const {
    size_t count = tensors_.size();
    const size_t size = variables_.size();
    // Keras 2.2's Adam also lists a stand-in of one element for each maximum that it does not keep.
    if (count == (slots_.size() + 1) * size &&
        std::all_of(tensors_.end() - static_cast<std::ptrdiff_t>(size), tensors_.end(),
                    [](const SavedTensor& tensor) { return tensor.shape == Shape{1}; }))
      count -= size;
    if (count != slots_.size() * size) refuse_count(slots_.size() * size, count);
    BySlot result;
    for (size_t s = 0; s < slots_.size(); ++s)
      for (size_t v = 0; v < size; ++v) result[slots_[s].name].push_back(&tensors_[s * size + v]);
    return result;
  }

  /// As .keras files have them: groups one after the other, a group's slots variable by variable.
  std::vector<const SavedTensor*> in_order(const BySlot& by_slot) const {
    std::vector<const SavedTensor*> ordered;
    int groups = 0;
    for (const SlotSpec& slot : slots_) groups = std::max(groups, slot.group + 1);
    for (int group = 0; group < groups; ++group)
      for (size_t v = 0; v < variables_.size(); ++v)
        for (const SlotSpec& slot : slots_) {
          if (slot.group != group) continue;
          const auto it = by_slot.find(slot.name);
          if (it == by_slot.end())
            refuse("{} keeps a \"{}\", which is not in the file", optimizer_.class_name(),
                   slot.name);
          check_shape(*it->second[v], *variables_[v].variable);
          ordered.push_back(it->second[v]);
        }
    return ordered;
  }

  void check_shape(const SavedTensor& tensor, const Variable& variable) const {
    if (tensor.shape != variable.shape)
      refuse("\"{}\" is {}, which is not the shape of \"{}\": {}", tensor.name, tensor.shape.str(),
             variable.path, variable.shape.str());
  }

  void add(OptimizerState& state, const SavedTensor& tensor) const {
    const auto has_its_shape = [&](const ScopedVariable& v) {
      return v.variable->shape == tensor.shape;
    };
    if (std::none_of(variables_.begin(), variables_.end(), has_its_shape))
      refuse("\"{}\" is {}, which no trainable variable is", tensor.name, tensor.shape.str());
    state.variables.push_back({tensor.name, h5_.read(tensor.path)});
  }

  const Hdf5Reader& h5_;
  const std::string where_;
  const Optimizer& optimizer_;
  const std::vector<SlotSpec> slots_;
  const bool is_keras3_, is_slot_by_slot_;
  std::vector<ScopedVariable> variables_;  // trainable ones
  std::vector<SavedTensor> tensors_;       // not yet taken
};

}  // namespace

OptimizerState read_legacy_optimizer(const Hdf5Reader& h5, const std::string& where,
                                     const Network& network, const Optimizer& optimizer,
                                     const std::string& keras_version) {
  return LegacyOptimizerReader(h5, where, network, optimizer, keras_version).read();
}

}  // namespace lockstep
