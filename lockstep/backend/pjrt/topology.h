// Compiling for chips that are not here: a plugin's compiler with a description in place of
// devices.
#pragma once

#include <map>
#include <memory>
#include <string>

#include "lockstep/backend/pjrt/compile_options.h"
#include "lockstep/backend/pjrt/program.h"

namespace lockstep::pjrt {

/// A program as a chip's compiler left it. It cannot run here.
struct ChipProgram {
  MemoryPlan memory;
  size_t serialized_bytes = 0;
  /// Instructions after optimisation, by their HLO name: {"fusion", 12}. Calls of vendor libraries
  /// are counted under "custom-call" and by their target's name as well.
  std::map<std::string, int> instructions, vendor_calls;
};

class Topology {
 public:
  /// `chip`: the plugin's own description of the target, `device_count` of them in one host.
  Topology(std::shared_ptr<Plugin> plugin, const std::string& chip, int device_count);
  ~Topology();
  Topology(const Topology&) = delete;
  Topology& operator=(const Topology&) = delete;

  ChipProgram compile(const std::string& text, const ProgramOptions& options,
                      const std::string& name) const;
  const Plugin& plugin() const { return *plugin_; }

 private:
  std::shared_ptr<Plugin> plugin_;
  abi::TopologyDescription* topology_ = nullptr;
};

}  // namespace lockstep::pjrt
