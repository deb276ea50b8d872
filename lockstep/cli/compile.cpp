// A training's programs compiled for a chip that need not be here.
#include <algorithm>
#include <cstdio>
#include <filesystem>

#include "lockstep/backend/pjrt/chip_compiler.h"
#include "lockstep/cli/commands.h"
#include "lockstep/cli/random_data.h"
#include "lockstep/cli/sources.h"
#include "lockstep/formats/files.h"
#include "lockstep/formats/json.h"
#include "lockstep/train/data_binding.h"
#include "lockstep/train/trainer.h"

namespace lockstep {
namespace {

/// Instructions that would move or add data between devices inside a program.
int collectives(const pjrt::ChipProgram& program) {
  int count = 0;
  for (const auto& [opcode, instructions] : program.instructions)
    for (const char* part : {"all-", "collective-", "reduce-scatter"})
      if (opcode.find(part) == 0) count += instructions;
  return count;
}

Json report_json(const ChipReport& report) {
  const pjrt::ChipProgram& program = report.program;
  const auto fusions = program.instructions.find("fusion");
  Json vendor_calls = Json::object();
  for (const auto& [target, count] : program.vendor_calls) vendor_calls[target] = count;
  return {{"program", report.name},
          {"seconds", report.seconds},
          {"memory",
           {{"arguments", program.memory.arguments},
            {"outputs", program.memory.outputs},
            {"aliased", program.memory.aliased},
            {"temporary", program.memory.temporary},
            {"code", program.memory.code}}},
          {"serialized_bytes", program.serialized_bytes},
          {"fusions", fusions == program.instructions.end() ? 0 : fusions->second},
          {"vendor_calls", vendor_calls},
          {"collectives", collectives(program)}};
}

double megabytes(const Json& bytes) {
  return bytes.get<double>() * 1e-6;
}

void print_table(const Json& programs) {
  std::printf("%-34s %7s %9s %9s %9s %8s %7s %11s\n", "program", "s", "in MB", "out MB", "temp MB",
              "fusions", "vendor", "collectives");
  for (const Json& program : programs) {
    int vendor = 0;
    for (const auto& [target, count] : program["vendor_calls"].items()) vendor += count.get<int>();
    const Json& memory = program["memory"];
    std::printf("%-34s %7.2f %9.2f %9.2f %9.2f %8d %7d %11d\n",
                program["program"].get<std::string>().c_str(), program["seconds"].get<double>(),
                megabytes(memory["arguments"]), megabytes(memory["outputs"]),
                megabytes(memory["temporary"]), program["fusions"].get<int>(), vendor,
                program["collectives"].get<int>());
  }
}

void write_texts(const std::filesystem::path& folder, const std::vector<ChipReport>& reports) {
  for (size_t i = 0; i < reports.size(); ++i)
    write_file_atomically(folder / fmt::format("{:03}.mlir", i), reports[i].text);
}

/// Throws OutOfMemory where a program plans for more than a chip has.
void check_memory(const ChipCompiler& compiler, const std::string& chip) {
  for (const ChipReport& report : compiler.reports()) {
    const pjrt::MemoryPlan& plan = report.program.memory;
    const int64_t needed = plan.arguments + plan.outputs - plan.aliased + plan.temporary;
    if (needed > compiler.memory_size())
      fail(ErrorCode::kOutOfMemory, chip,
           "programs must fit into {:.1f} GB: \"{}\" plans {:.1f} GB. A smaller --tower-size needs "
           "less",
           static_cast<double>(compiler.memory_size()) * 1e-9, report.name,
           static_cast<double>(needed) * 1e-9);
  }
}

/// Compiles all programs of the model's training steps; returns the rows of a tower.
int64_t compile_training(Model& model, const TrainerOptions& options) {
  model.network()->initialize(0);
  Trainer trainer(model.network(), &model.compile_config(), model.trainable_flags(), options);
  const DatasetPtr data = random_data(model, std::min<int64_t>(options.batch_size, 2));
  trainer.bind(StepKind::kTrain, bind_data(*data, *model.network()));
  trainer.prepare_shapes(StepKind::kTrain, options.batch_size);
  return trainer.tower_size();
}

}  // namespace

int run_compile(const Arguments& a) {
  Model model = open_model(a.only("MODEL"));
  if (!model.is_compiled() || !model.compile_config().optimizer)
    invalid_argument("model",
                     "must be compiled with an optimizer: its training is what is compiled");
  const int64_t devices = a.integer("devices", 1);
  if (devices < 1 || devices > 1024)
    invalid_argument("--devices", "must be a number of chips in [1, 1024]: {}", devices);
  const int64_t batch = a.integer("batch-size", 256);
  if (!a.has("target"))
    invalid_argument("--target", "expected: a chip, one of {}", fmt::join(known_chips(), ", "));
  if (a.has("out")) {
    std::error_code error;
    std::filesystem::create_directories(a.text("out"), error);
    if (!std::filesystem::is_directory(a.text("out")))
      invalid_argument("--out", "must be a folder, or a name for one: \"{}\"", a.text("out"));
  }
  const auto compiler = std::make_shared<ChipCompiler>(a.text("target"), static_cast<int>(devices));
  TrainerOptions options;
  options.batch_size = batch;
  options.tower_size = a.integer("tower-size", 0);
  options.backend = compiler;
  options.device_count = static_cast<int>(devices);
  int64_t tower_size = compile_training(model, options);
  // A GAN's discriminator trains by itself too.
  if (std::optional<GanParts> parts = gan_parts(model))
    tower_size = std::max(tower_size, compile_training(parts->discriminator, options));

  Json json{{"target", a.text("target")},
            {"devices", devices},
            {"batch_size", batch},
            {"tower_size", tower_size},
            {"compiler", compiler->version()},
            {"programs", Json::array()}};
  double seconds = 0;
  for (const ChipReport& report : compiler->reports()) {
    json["programs"].push_back(report_json(report));
    seconds += report.seconds;
  }
  if (a.has("out")) write_texts(a.text("out"), compiler->reports());
  if (a.has("json"))
    std::printf("%s\n", dump_json(json).c_str());
  else
    print_table(json["programs"]);
  check_memory(*compiler, a.text("target"));
  if (a.has("json")) return 0;
  std::printf("%zu programs for %lld x %s in %.1f s: batch %lld in towers of %lld\n",
              compiler->reports().size(), static_cast<long long>(devices), a.text("target").c_str(),
              seconds, static_cast<long long>(batch), static_cast<long long>(tower_size));
  return 0;
}

}  // namespace lockstep
