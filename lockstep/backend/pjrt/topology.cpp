#include "lockstep/backend/pjrt/topology.h"

#include <functional>

#include "lockstep/base/protobuf.h"

namespace lockstep::pjrt {
namespace {

constexpr std::string_view kRule = "the compiler's program must be a protocol buffer";

/// Calls `visit` for each message that the field `number` holds.
void for_each_message(ProtobufReader reader, uint32_t number,
                      const std::function<void(ProtobufReader)>& visit) {
  while (reader.next())
    if (reader.is(number, ProtobufWire::kBytes)) visit(reader.message());
}

// Field numbers of xla/service/hlo.proto.
constexpr uint32_t kModuleOfConfigured = 1, kComputations = 3, kInstructions = 2, kOpcode = 2,
                   kCustomCallTarget = 28;

void count_instructions(ProtobufReader hlo_module, ChipProgram& program) {
  const auto count = [&](ProtobufReader instruction) {
    std::string opcode, target;
    while (instruction.next()) {
      if (instruction.is(kOpcode, ProtobufWire::kBytes)) opcode = instruction.bytes();
      if (instruction.is(kCustomCallTarget, ProtobufWire::kBytes)) target = instruction.bytes();
    }
    ++program.instructions[opcode];
    if (!target.empty()) ++program.vendor_calls[target];
  };
  for_each_message(hlo_module, kComputations, [&](ProtobufReader computation) {
    for_each_message(computation, kInstructions, count);
  });
}

}  // namespace

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
  for_each_message(ProtobufReader(configured, "pjrt", kRule), kModuleOfConfigured,
                   [&](ProtobufReader module) { count_instructions(module, program); });
  return program;
}

}  // namespace lockstep::pjrt
