// What one device needs to run the small programs of the update in place.
#pragma once

#include <cstring>
#include <initializer_list>
#include <memory>
#include <span>
#include <unordered_map>
#include <vector>

#include "lockstep/backend/backend.h"

namespace lockstep {

/// Elements of a variable that one program updates; part of the numerical contract.
inline constexpr int64_t kUpdateBlock = 4096;

struct DeviceScratch {
  std::unordered_map<const Executable*, std::unique_ptr<ExecutionContext>> contexts;
  std::vector<AlignedBytes> outputs;
  std::vector<float*> slots;
  std::vector<float> squared_norms;  // that clip each variable
  std::vector<const void*> in;
  std::vector<void*> out;

  /// Runs and copies each result over `targets`; inputs may be the targets.
  void run(const Executable& executable, std::initializer_list<const void*> inputs,
           std::span<float* const> more_inputs, std::initializer_list<float*> targets,
           std::span<float* const> more_targets) {
    auto& context = contexts[&executable];
    if (!context) context = executable.create_context(0);
    in.assign(inputs);
    in.insert(in.end(), more_inputs.begin(), more_inputs.end());
    out.clear();
    for (size_t i = 0; i < executable.output_types().size(); ++i) {
      const size_t bytes = executable.output_types()[i].size_bytes();
      if (outputs.size() <= i) outputs.emplace_back();
      if (outputs[i].size() < bytes) outputs[i] = AlignedBytes(bytes);
      out.push_back(outputs[i].data());
    }
    executable.run(*context, in, out);
    size_t i = 0;
    const auto copy = [&](float* target) {
      std::memcpy(target, outputs[i].data(), executable.output_types()[i].size_bytes());
      ++i;
    };
    for (float* target : targets) copy(target);
    for (float* target : more_targets) copy(target);
  }
};

}  // namespace lockstep
