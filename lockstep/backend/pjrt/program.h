// A compiled program, loaded on devices or not: what can be asked of it.
#pragma once

#include <memory>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include "lockstep/backend/pjrt/plugin.h"

namespace lockstep::pjrt {

/// Bytes that a compiled program plans for on each device.
struct MemoryPlan {
  int64_t arguments = 0, outputs = 0, aliased = 0, temporary = 0, code = 0;
};

/// Owns the plugin's executable.
class CompiledProgram {
 public:
  CompiledProgram(std::shared_ptr<const Plugin> plugin, abi::Executable* executable,
                  std::string name)
      : plugin_(std::move(plugin)), executable_(executable), name_(std::move(name)) {}
  ~CompiledProgram();
  CompiledProgram(const CompiledProgram&) = delete;
  CompiledProgram& operator=(const CompiledProgram&) = delete;

  const std::string& name() const { return name_; }
  size_t output_count() const;
  std::string serialize() const;
  MemoryPlan memory_plan() const;
  /// xla.HloModuleProtoWithConfig after all of the compiler's passes.
  std::string optimized_hlo() const;

 private:
  std::shared_ptr<const Plugin> plugin_;
  abi::Executable* executable_;
  std::string name_;
};

/// What one call compiles: text stays where it is while the plugin reads it.
class ProgramText {
 public:
  explicit ProgramText(std::string text);
  const abi::Program* get() const { return &program_.args; }

 private:
  std::string text_;
  Call<abi::Program> program_;
};

/// An option of a plugin: of a client, or of a description of devices.
using PluginOption = std::pair<std::string, std::variant<bool, int64_t, double, std::string>>;

/// Named values as the ABI takes them; the options must outlive the result.
std::vector<abi::NamedValue> named_values(const std::vector<PluginOption>& options);

}  // namespace lockstep::pjrt
