// Compiles a training's programs for a chip that need not be here, and reports on each.
#pragma once

#include <memory>
#include <mutex>
#include <string>
#include <string_view>
#include <vector>

#include "lockstep/backend/backend.h"
#include "lockstep/backend/pjrt/program_cache.h"
#include "lockstep/backend/pjrt/topology.h"

namespace lockstep {

/// Chips that `lockstep compile --target` knows: "h100", "h200".
std::vector<std::string_view> known_chips();

struct ChipReport {
  std::string name;  // of the program
  double seconds = 0;
  std::string text;  // StableHLO
  pjrt::ChipProgram program;
};

/// A backend of the kind "cuda" whose programs cannot run: whatever would move or compute data
/// throws Unsupported.
class ChipCompiler : public Backend, public DeviceMemory {
 public:
  /// Throws NotFound naming the known chips, or what brings the plugin.
  ChipCompiler(std::string_view chip, int device_count);

  std::string_view kind() const override { return "cuda"; }
  std::unique_ptr<Executable> compile(const Graph& graph,
                                      const CompileOptions& options) const override;
  void enter_device_thread() const override {}
  std::string version() const override;
  const DeviceMemory* device_memory() const override { return this; }

  std::shared_ptr<DeviceProgram> compile_resident(const Graph& graph, const CompileOptions& options,
                                                  std::vector<Donation> donations) const override;
  DeviceTensorPtr upload(const void* from, const TensorType& type, int device) const override;
  DeviceTensorPtr copy(const DeviceTensorPtr& tensor, int device) const override;
  void wait(const DeviceTensorPtr& tensor) const override;
  void download(std::span<const Download> downloads) const override;

  /// Bytes of one chip's memory.
  int64_t memory_size() const { return memory_size_; }
  /// Of the programs compiled so far, in the order in which they were finished.
  const std::vector<ChipReport>& reports() const { return reports_; }

 private:
  std::string chip_;
  int64_t memory_size_;
  std::unique_ptr<pjrt::Topology> topology_;
  mutable std::mutex mutex_;
  mutable std::vector<ChipReport> reports_;
  mutable pjrt::ProgramCache<DeviceProgram> cache_{0};
};

}  // namespace lockstep
