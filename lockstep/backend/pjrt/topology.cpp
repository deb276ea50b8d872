#include "lockstep/backend/pjrt/topology.h"

#include <functional>

namespace lockstep::pjrt {
namespace {

/// Fields of a message in protocol buffers' wire format.
class Fields {
 public:
  explicit Fields(std::string_view bytes) : bytes_(bytes) {}

  /// Calls `visit(number, bytes)` for each field that holds bytes; passes over the others.
  void for_each(const std::function<void(int, std::string_view)>& visit) {
    while (!bytes_.empty()) {
      const uint64_t key = varint();
      switch (key & 7) {
        case 0:
          varint();
          break;
        case 1:
          take(8);
          break;
        case 2: {
          const uint64_t size = varint();
          visit(static_cast<int>(key >> 3), take(size));
          break;
        }
        case 5:
          take(4);
          break;
        default:
          damaged();
      }
    }
  }

 private:
  [[noreturn]] static void damaged() {
    fail(ErrorCode::kDataLoss, "pjrt",
         "the compiler's program must be a protocol buffer: it ends "
         "inside a field");
  }
  std::string_view take(uint64_t size) {
    if (size > bytes_.size()) damaged();
    const std::string_view taken = bytes_.substr(0, size);
    bytes_.remove_prefix(size);
    return taken;
  }
  uint64_t varint() {
    uint64_t value = 0;
    for (int shift = 0; shift < 64; shift += 7) {
      const auto byte = static_cast<unsigned char>(take(1)[0]);
      value |= static_cast<uint64_t>(byte & 127) << shift;
      if (byte < 128) return value;
    }
    damaged();
  }
  std::string_view bytes_;
};

// Field numbers of xla/service/hlo.proto.
constexpr int kModuleOfConfigured = 1, kComputations = 3, kInstructions = 2, kOpcode = 2,
              kCustomCallTarget = 28;

}  // namespace

void count_instructions(std::string_view hlo_module, ChipProgram& program) {
  const auto instruction = [&](std::string_view bytes) {
    std::string opcode, target;
    Fields(bytes).for_each([&](int number, std::string_view value) {
      if (number == kOpcode) opcode = value;
      if (number == kCustomCallTarget) target = value;
    });
    ++program.instructions[opcode];
    if (!target.empty()) ++program.vendor_calls[target];
  };
  Fields(hlo_module).for_each([&](int number, std::string_view computation) {
    if (number != kComputations) return;
    Fields(computation).for_each([&](int inner, std::string_view bytes) {
      if (inner == kInstructions) instruction(bytes);
    });
  });
}

Topology::Topology(std::shared_ptr<Plugin> plugin, const std::string& chip, int device_count)
    : plugin_(std::move(plugin)) {
  const std::vector<PluginOption> options = {{"target_config", chip},
                                             {"topology", fmt::format("1x1x{}", device_count)}};
  const std::vector<abi::NamedValue> values = named_values(options);
  Call<abi::TopologyDescriptionCreateArgs> create;
  create->topology_name = "";
  create->create_options = values.data();
  create->num_options = values.size();
  plugin_->call(create, "describing the target");
  topology_ = create->topology;
}

Topology::~Topology() {
  Call<abi::TopologyDescriptionDestroyArgs> args;
  args->topology = topology_;
  plugin_->call_quietly(args);
}

ChipProgram Topology::compile(const std::string& text, const ProgramOptions& options,
                              const std::string& name) const {
  ProgramText source(text);
  const std::string serialized = pjrt::serialize(options);
  Call<abi::CompileArgs> args;
  args->topology = topology_;
  args->program = source.get();
  args->compile_options = serialized.data();
  args->compile_options_size = serialized.size();
  plugin_->call(args, fmt::format("compiling {}", name));
  const CompiledProgram compiled(plugin_, args->executable, name);
  ChipProgram program;
  program.memory = compiled.memory_plan();
  program.serialized_bytes = compiled.serialize().size();
  const std::string configured = compiled.optimized_hlo();
  Fields(configured).for_each([&](int number, std::string_view module) {
    if (number == kModuleOfConfigured) count_instructions(module, program);
  });
  return program;
}

}  // namespace lockstep::pjrt
