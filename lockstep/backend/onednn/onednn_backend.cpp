#include "lockstep/backend/onednn/onednn_backend.h"

#include <omp.h>
#include <oneapi/dnnl/dnnl.hpp>

#include "lockstep/backend/denormals.h"
#include "lockstep/backend/onednn/lowering.h"
#include "lockstep/backend/onednn/pointwise_kernels.h"
#include "lockstep/base/log.h"
#include "lockstep/passes/pass.h"

namespace lockstep {
namespace {

class OnednnContext : public ExecutionContext {
 public:
  explicit OnednnContext(const Plan& plan) : arena(plan.arena_bytes), scratch(plan.scratch_bytes) {
    for (const Slot& slot : plan.slots)
      slots.push_back(slot.kind == Slot::Kind::kArena ? arena.data() + slot.offset
                      : slot.kind == Slot::Kind::kConstant
                          ? const_cast<std::byte*>(slot.constant.bytes())
                          : nullptr);
    for (const auto& step : plan.steps) states.push_back(step->create_state());
  }
  size_t size_bytes() const override { return arena.size() + scratch.size(); }

  AlignedBytes arena, scratch;
  std::vector<std::byte*> slots;
  std::vector<std::unique_ptr<StepState>> states;
};

class OnednnExecutable : public Executable {
 public:
  OnednnExecutable(const Graph& graph, std::string name) : name_(std::move(name)) {
    for (int parameter : graph.parameters()) input_types_.push_back(graph.type(parameter));
    for (int result : graph.results()) output_types_.push_back(graph.type(result));
    plan_ = lower(graph);
    for (size_t i = 0; i < plan_.slots.size(); ++i) {
      const Slot& slot = plan_.slots[i];
      if (slot.kind == Slot::Kind::kInput) input_slots_.emplace_back(i, slot.index);
      if (slot.kind == Slot::Kind::kOutput) output_slots_.emplace_back(i, slot.index);
    }
  }

  std::unique_ptr<ExecutionContext> create_context(int) const override {
    return std::make_unique<OnednnContext>(plan_);
  }

  void run(ExecutionContext& execution_context, std::span<const void* const> inputs,
           std::span<void* const> outputs) const override {
    OnednnContext& context = bind(execution_context, inputs, outputs);
    if (verbose_level() >= 2) return run_verbose(context);
    for (size_t i = 0; i < plan_.steps.size(); ++i) run_step(context, i);
  }

  std::vector<KernelTime> time_kernels(ExecutionContext& execution_context,
                                       std::span<const void* const> inputs,
                                       std::span<void* const> outputs, int repeats) const override {
    OnednnContext& context = bind(execution_context, inputs, outputs);
    std::vector<KernelTime> times;
    for (size_t i = 0; i < plan_.steps.size(); ++i)
      for (const Step* part : plan_.steps[i]->parts()) {
        const Frame frame = frame_of(context, i);
        part->run(frame);
        const double start = monotonic_seconds();
        for (int repeat = 0; repeat < repeats; ++repeat) part->run(frame);
        times.push_back({part->describe(), (monotonic_seconds() - start) / repeats, part->flops()});
      }
    return times;
  }

  std::string describe() const override {
    std::string text = fmt::format("{}: arena {} bytes, scratch {} bytes\n", name_,
                                   plan_.arena_bytes, plan_.scratch_bytes);
    for (const auto& step : plan_.steps) text += "  " + step->describe() + "\n";
    return text;
  }

 private:
  OnednnContext& bind(ExecutionContext& execution_context, std::span<const void* const> inputs,
                      std::span<void* const> outputs) const {
    auto& context = static_cast<OnednnContext&>(execution_context);
    for (const auto& [slot, input] : input_slots_)
      context.slots[slot] =
          static_cast<std::byte*>(const_cast<void*>(inputs[static_cast<size_t>(input)]));
    for (const auto& [slot, output] : output_slots_)
      context.slots[slot] = static_cast<std::byte*>(outputs[static_cast<size_t>(output)]);
    return context;
  }

  static Frame frame_of(OnednnContext& context, size_t i) {
    return {context.slots.data(), context.scratch.data(), context.states[i].get()};
  }

  void run_step(OnednnContext& context, size_t i) const {
    plan_.steps[i]->run(frame_of(context, i));
  }

  void run_verbose(OnednnContext& context) const {
    for (size_t i = 0; i < plan_.steps.size(); ++i) {
      const double start = monotonic_seconds();
      run_step(context, i);
      trace(fmt::format("lockstep,cpu,{},{:.4f}", plan_.steps[i]->describe(),
                        (monotonic_seconds() - start) * 1e3));
    }
  }

  std::string name_;
  Plan plan_;
  std::vector<std::pair<size_t, int>> input_slots_, output_slots_;
};

/// Primitives are made for the number of threads that OpenMP has at that time.
class OneThread {
 public:
  OneThread() : before_(omp_get_max_threads()) { omp_set_num_threads(1); }
  ~OneThread() { omp_set_num_threads(before_); }

 private:
  int before_;
};

class OnednnBackend : public Backend {
 public:
  std::string_view kind() const override { return "cpu"; }

  std::unique_ptr<Executable> compile(const Graph& graph,
                                      const CompileOptions& options) const override {
    const OneThread one_thread;
    auto executable = std::make_unique<OnednnExecutable>(*simplify(graph), options.name);
    if (verbose_level() >= 1) trace(executable->describe());
    return executable;
  }

  void enter_device_thread() const override {
    omp_set_num_threads(1);
    flush_denormals();
  }

  std::string version() const override {
    const dnnl_version_t* v = dnnl_version();
    return fmt::format("oneDNN {}.{}.{}, vectors {}, oneDNN instruction set {}", v->major, v->minor,
                       v->patch, vector_target_name(),
                       static_cast<int>(dnnl::get_effective_cpu_isa()));
  }
};

}  // namespace

std::unique_ptr<Backend> make_onednn_backend() {
  return std::make_unique<OnednnBackend>();
}

}  // namespace lockstep
