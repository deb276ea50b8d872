#include "lockstep/backend/pjrt/chip_compiler.h"

#include "lockstep/backend/pjrt/kind_settings.h"
#include "lockstep/backend/stablehlo/emit.h"
#include "lockstep/base/log.h"
#include "lockstep/passes/pass.h"

namespace lockstep {
namespace {

/// What sets one chip of a generation apart from another. Source: NVIDIA's data sheets.
struct Chip {
  std::string_view name, product;
  int64_t memory_bandwidth;  // bytes a second
  int64_t memory_size;       // bytes
};
constexpr Chip kChips[] = {
    {"h100", "NVIDIA H100 80GB HBM3", 3352320000000, 84942979072},
    {"h200", "NVIDIA H200 141GB HBM3e", 4800000000000, 151397597184},
};

/// xla.GpuTargetConfigProto as text, for the Hopper generation (compute capability 9.0a).
std::string describe(const Chip& chip) {
  return fmt::format(
      R"(gpu_device_info {{
  threads_per_block_limit: 1024 threads_per_warp: 32 threads_per_core_limit: 2048
  shared_memory_per_block: 49152 shared_memory_per_core: 233472
  shared_memory_per_block_optin: 232448
  core_count: 132 fpus_per_core: 128 clock_rate_ghz: 1.98
  block_dim_limit_x: 2147483647 block_dim_limit_y: 65535 block_dim_limit_z: 65535
  thread_dim_limit_x: 1024 thread_dim_limit_y: 1024 thread_dim_limit_z: 64
  registers_per_core_limit: 65536 registers_per_block_limit: 65536
  l2_cache_size: 52428800 memory_bandwidth: {bandwidth} device_memory_size: {memory}
  cuda_compute_capability {{ major: 9 feature_extension: ACCELERATED_FEATURES }}
  device_vendor: "NVIDIA Corporation" platform_version: "Compute Capability 9.0a"
  device_address_bits: 64 pcie_bandwidth: 34359738368 ecc_enabled: true name: "{product}"
  driver_version: "13.0.0" runtime_version: "13.0.0" compile_time_toolkit_version: "13.0.0"
  dnn_version: "9.10.0" device_interconnect_info {{ active_links: 18 }}
}}
platform_name: "CUDA"
dnn_version_info {{ major: 9 minor: 10 patch: 0 }}
device_description_str: "{product}"
)",
      fmt::arg("bandwidth", chip.memory_bandwidth), fmt::arg("memory", chip.memory_size),
      fmt::arg("product", chip.product));
}

const Chip& find_chip(std::string_view name) {
  for (const Chip& chip : kChips)
    if (chip.name == name) return chip;
  fail(ErrorCode::kNotFound, "--target", "must be one of {}: \"{}\"",
       fmt::join(known_chips(), ", "), name);
}

class ChipOnlyProgram : public DeviceProgram {
 public:
  explicit ChipOnlyProgram(std::string text) : text_(std::move(text)) {}
  std::vector<DeviceTensorPtr> enqueue(int, std::span<const DeviceTensorPtr>) const override {
    unsupported("compile", "programs for a chip that is not here cannot run");
  }
  std::string describe() const override { return text_; }

 private:
  std::string text_;
};

}  // namespace

std::vector<std::string_view> known_chips() {
  std::vector<std::string_view> names;
  for (const Chip& chip : kChips) names.push_back(chip.name);
  return names;
}

ChipCompiler::ChipCompiler(std::string_view chip, int device_count)
    : chip_(chip), memory_size_(find_chip(chip).memory_size) {
  const std::string description = describe(find_chip(chip));
  topology_ =
      std::make_unique<pjrt::Topology>(pjrt::load_plugin("cuda"), description, device_count);
}

std::string ChipCompiler::version() const {
  return fmt::format("{}, {}", chip_, topology_->plugin().description());
}

std::shared_ptr<DeviceProgram> ChipCompiler::compile_resident(
    const Graph& graph, const CompileOptions& options, std::vector<Donation> donations) const {
  const std::string text =
      emit_stablehlo(*simplify(graph), {.name = options.name, .donations = std::move(donations)});
  return cache_.get(text, [&] {
    const double start = monotonic_seconds();
    pjrt::ProgramOptions compile{.replicas = 1, .is_portable = true, .flags = {}};
    compile.flags = pjrt::compile_flags("cuda");
    // Without a device the kernels of cuBLASLt cannot be listed, those of Triton would not be
    // deterministic: plain library calls stay.
    compile.flags.emplace_back("xla_gpu_enable_triton_gemm", false);
    ChipReport report{options.name, 0, text, topology_->compile(text, compile, options.name)};
    report.seconds = monotonic_seconds() - start;
    std::lock_guard lock(mutex_);
    reports_.push_back(std::move(report));
    return std::make_shared<ChipOnlyProgram>(text);
  });
}

std::unique_ptr<Executable> ChipCompiler::compile(const Graph&, const CompileOptions&) const {
  unsupported("compile", "chips do not compute in host memory");
}
DeviceTensorPtr ChipCompiler::upload(const void*, const TensorType&, int) const {
  unsupported("compile", "a chip that is not here has no memory");
}
DeviceTensorPtr ChipCompiler::copy(const DeviceTensorPtr&, int) const {
  unsupported("compile", "a chip that is not here has no memory");
}
void ChipCompiler::wait(const DeviceTensorPtr&) const {
  unsupported("compile", "a chip that is not here has no memory");
}
void ChipCompiler::download(std::span<const Download>) const {
  unsupported("compile", "a chip that is not here has no memory");
}

}  // namespace lockstep
