// The door to a kind of device: compile a graph once, run it many times on any device of the kind.
#pragma once

#include <filesystem>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "lockstep/base/log.h"
#include "lockstep/ir/graph.h"

namespace lockstep {

/// Working memory of one executable on one device: arena, scratchpads, argument arrays. Made once,
/// used by one thread at a time.
class ExecutionContext {
 public:
  virtual ~ExecutionContext() = default;
  /// Bytes of working memory it holds.
  virtual size_t size_bytes() const = 0;
};

/// A kernel of an executable and what one run of it takes.
struct KernelTime {
  std::string kernel;  // "conv2d f32[32,26,26,16] jit:avx2"
  double seconds = 0;
  double flops = 0;  // of contractions; 0 for anything else
};

/// A compiled graph. Immutable and shared by all devices of the kind: the same instructions run
/// wherever a tower runs. Every pointer is to dense row-major host memory, aligned for its element
/// type (rows of a batch start anywhere); inputs are in the order of the graph's parameters,
/// outputs in that of its results.
class Executable {
 public:
  virtual ~Executable() = default;

  const std::vector<TensorType>& input_types() const { return input_types_; }
  const std::vector<TensorType>& output_types() const { return output_types_; }

  /// For device `device` of the team; a kind whose devices share memory may not care.
  virtual std::unique_ptr<ExecutionContext> create_context(int device) const = 0;

  /// What depends on kWeight parameters alone is done once whenever weights changed, before `run`,
  /// in independent tasks that different threads may take. Results are kept in the executable and
  /// seen by every context. Inputs other than kWeight ones may be null.
  virtual int prologue_task_count() const { return 0; }
  virtual void run_prologue_task(int task, ExecutionContext& context,
                                 std::span<const void* const> inputs) {
    (void)task, (void)context, (void)inputs;
  }

  /// Runs to completion on the calling thread. Outputs may not overlap inputs or each other.
  virtual void run(ExecutionContext& context, std::span<const void* const> inputs,
                   std::span<void* const> outputs) const = 0;

  /// Runs each kernel in turn, `repeats` times in a row, and says how long one run of it took: what
  /// the kernels reach alone. What they compute by being repeated means nothing. A backend that
  /// cannot tell its kernels apart times the whole.
  virtual std::vector<KernelTime> time_kernels(ExecutionContext& context,
                                               std::span<const void* const> inputs,
                                               std::span<void* const> outputs, int repeats) const {
    const double start = monotonic_seconds();
    for (int repeat = 0; repeat < repeats; ++repeat) run(context, inputs, outputs);
    return {{"whole program", (monotonic_seconds() - start) / repeats}};
  }

  /// One line a kernel: what was chosen, for LOCKSTEP_VERBOSE and the numerics signature.
  virtual std::string describe() const = 0;

 protected:
  std::vector<TensorType> input_types_, output_types_;
};

struct CompileOptions {
  std::string name;  // for messages and traces
};

/// A dense row-major tensor in the memory of one device, shared by all who may still read it.
class DeviceTensor {
 public:
  virtual ~DeviceTensor() = default;
};
using DeviceTensorPtr = std::shared_ptr<DeviceTensor>;

/// A program whose inputs and results stay in a device's memory.
class DeviceProgram {
 public:
  virtual ~DeviceProgram() = default;
  /// Queues the program behind what `device` of the team was given before and returns at once:
  /// results may be handed on, they are ready later. Inputs lie on that device; those that the
  /// program was compiled to donate are gone. Safe from several threads.
  virtual std::vector<DeviceTensorPtr> enqueue(int device,
                                               std::span<const DeviceTensorPtr> inputs) const = 0;
  virtual std::string describe() const = 0;
};

/// A result that takes over an input's memory, types equal.
struct Donation {
  int input = 0, result = 0;
};

/// The memory of devices that do not compute in the host's. Devices are numbered as in the team.
class DeviceMemory {
 public:
  virtual ~DeviceMemory() = default;
  /// Graphs that are alike in everything share one program.
  virtual std::shared_ptr<DeviceProgram> compile_resident(
      const Graph& graph, const CompileOptions& options, std::vector<Donation> donations) const = 0;
  /// Copies from dense row-major host memory before it returns.
  virtual DeviceTensorPtr upload(const void* from, const TensorType& type, int device) const = 0;
  /// A copy on another device; queued.
  virtual DeviceTensorPtr copy(const DeviceTensorPtr& tensor, int device) const = 0;

  /// Returns when the tensor is ready.
  virtual void wait(const DeviceTensorPtr& tensor) const = 0;

  struct Download {
    DeviceTensorPtr tensor;
    void* to = nullptr;
    size_t size_bytes = 0;
  };
  /// Copies to host memory and waits for all of it: so for everything these tensors depend on.
  virtual void download(std::span<const Download> downloads) const = 0;
};

class Backend {
 public:
  virtual ~Backend() = default;
  virtual std::string_view kind() const = 0;  // "cpu", "reference", "cuda", ...
  virtual std::unique_ptr<Executable> compile(const Graph& graph,
                                              const CompileOptions& options) const = 0;
  /// Prepares the calling thread to run as a device: flush-to-zero, thread count 1.
  virtual void enter_device_thread() const = 0;
  /// Keeps programs compiled from now on in a folder, and takes them from there the next time.
  /// Kinds whose compiler always makes the same of a graph need not.
  virtual void keep_programs(const std::filesystem::path& folder) { (void)folder; }
  /// Null for kinds that compute in host memory.
  virtual const DeviceMemory* device_memory() const { return nullptr; }
  /// Vendor, version and instruction set, for the numerics signature.
  virtual std::string version() const = 0;
};

}  // namespace lockstep
