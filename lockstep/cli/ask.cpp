// evaluate, predict, inspect, devices, ops: commands that only look.
#include <cstdio>

#include "lockstep/cli/checkpoints.h"
#include "lockstep/cli/commands.h"
#include "lockstep/cli/sources.h"
#include "lockstep/formats/json.h"
#include "lockstep/ir/op.h"

namespace lockstep {
namespace {

EvaluateArguments evaluate_arguments(const Arguments& a) {
  EvaluateArguments arguments;
  arguments.batch_size = a.integer("batch-size", arguments.batch_size);
  arguments.devices = a.text("devices", arguments.devices);
  arguments.tower_size = a.integer("tower-size", 0);
  return arguments;
}

std::string needed(const Arguments& a, const std::string& name) {
  if (!a.has(name)) invalid_argument("--" + name, "is needed");
  return a.text(name);
}

}  // namespace

int run_evaluate(const Arguments& a) {
  check_output(a, "out");
  Model model = open_model(a.only("MODEL"));
  if (a.has("weights")) model.load_weights(a.text("weights"));
  const Logs logs =
      model.evaluate(open_data(needed(a, "data"), Part::kTest, model), evaluate_arguments(a));
  Json json = Json::object();
  for (const auto& [name, value] : logs) {
    std::printf("%s: %.6g\n", name.c_str(), value);
    json[name] = value;
  }
  if (a.has("out")) write_file_atomically(a.text("out"), dump_json(json, 1));
  return 0;
}

int run_predict(const Arguments& a) {
  Model model = open_model(a.only("MODEL"));
  if (a.has("weights")) model.load_weights(a.text("weights"));
  const std::string out = needed(a, "out");
  check_output(a, "out");
  std::vector<NamedTensor> results =
      model.predict(open_data(needed(a, "data"), Part::kTest, model), evaluate_arguments(a));
  for (NamedTensor& result : results) result.name = "predict/" + result.name;
  write_file_atomically(out, write_npz(results));
  for (const NamedTensor& result : results)
    std::printf("%s %s\n", result.name.c_str(), result.tensor.type().str().c_str());
  return 0;
}

int run_inspect(const Arguments& a) {
  const std::string word = a.only("MODEL");
  std::optional<Checkpoint> checkpoint = open_checkpoint(word);
  if (checkpoint) std::fputs(describe_checkpoint(*checkpoint).c_str(), stdout);
  if (checkpoint && has_several_models(*checkpoint)) return 0;
  Model model = checkpoint ? checkpoint_model(word, std::move(*checkpoint)) : open_model(word);
  std::fputs(model.summary().c_str(), stdout);
  if (model.is_compiled() && model.compile_config().optimizer)
    std::printf("optimizer %s, %lld steps done\n",
                std::string(model.compile_config().optimizer->class_name()).c_str(),
                static_cast<long long>(model.optimizer_state().iterations));
  return 0;
}

int run_devices(const Arguments& a) {
  a.none();
  for (const DeviceKind& kind : device_kinds())
    std::printf("%-10s %d  %s\n", kind.kind.c_str(), kind.count, kind.description.c_str());
  return 0;
}

int run_ops(const Arguments& a) {
  a.none();
  if (a.has("markdown")) std::printf("| op | operands | meaning |\n|---|---|---|\n");
  for (const OpDef& op : all_ops()) {
    const std::string operands = op.operand_count < 0 ? "any" : std::to_string(op.operand_count);
    const std::string summary(op.summary), mnemonic(op.mnemonic);
    std::printf(a.has("markdown") ? "| `%s` | %s | %s |\n" : "%-24s %-4s %s\n", mnemonic.c_str(),
                operands.c_str(), summary.c_str());
  }
  return 0;
}

}  // namespace lockstep
