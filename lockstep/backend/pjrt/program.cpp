#include "lockstep/backend/pjrt/program.h"

namespace lockstep::pjrt {

CompiledProgram::~CompiledProgram() {
  Call<abi::ExecutableDestroyArgs> args;
  args->executable = executable_;
  plugin_->call_quietly(args);
}

size_t CompiledProgram::output_count() const {
  Call<abi::ExecutableNumOutputsArgs> count;
  count->executable = executable_;
  plugin_->call(count, name_);
  return count->num_outputs;
}

std::string CompiledProgram::serialize() const {
  Call<abi::ExecutableSerializeArgs> args;
  args->executable = executable_;
  plugin_->call(args, name_);
  std::string bytes(args->serialized_bytes, args->serialized_bytes_size);
  args->serialized_executable_deleter(args->serialized_executable);
  return bytes;
}

MemoryPlan CompiledProgram::memory_plan() const {
  Call<abi::ExecutableGetCompiledMemoryStatsArgs> args;
  args->executable = executable_;
  plugin_->call(args, name_);
  return {args->argument_size, args->output_size, args->alias_size, args->temp_size,
          args->generated_code_size};
}

std::string CompiledProgram::optimized_hlo() const {
  Call<abi::Program> program;
  program->header.struct_size = offsetof(abi::Program, format_size) + sizeof(size_t);
  Call<abi::ExecutableOptimizedProgramArgs> args;
  args->executable = executable_;
  args->program = &program.args;
  plugin_->call(args, name_);
  std::string text(program->code_size, '\0');
  program->code = text.data();
  plugin_->call(args, name_);
  return text;
}

ProgramText::ProgramText(std::string text) : text_(std::move(text)) {
  program_->header.struct_size = offsetof(abi::Program, format_size) + sizeof(size_t);
  program_->code = text_.data();
  program_->code_size = text_.size();
  program_->format = "mlir";
  program_->format_size = 4;
}

std::vector<abi::NamedValue> named_values(const std::vector<PluginOption>& options) {
  std::vector<abi::NamedValue> values;
  for (const auto& [name, value] : options) {
    abi::NamedValue& named = values.emplace_back();
    named = {};
    named.header.struct_size = sizeof(abi::NamedValue);
    named.name = name.data();
    named.name_size = name.size();
    named.value_size = 1;
    if (const auto* text = std::get_if<std::string>(&value)) {
      named.type = abi::NamedValue::kString;
      named.string_value = text->data();
      named.value_size = text->size();
    } else if (const auto* number = std::get_if<int64_t>(&value)) {
      named.type = abi::NamedValue::kInt64;
      named.int64_value = *number;
    } else if (const auto* truth = std::get_if<bool>(&value)) {
      named.type = abi::NamedValue::kBool;
      named.bool_value = *truth;
    } else {
      named.type = abi::NamedValue::kFloat;
      named.float_value = static_cast<float>(std::get<double>(value));
    }
  }
  return values;
}

}  // namespace lockstep::pjrt
