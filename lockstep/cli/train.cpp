#include <cstdio>
#include <filesystem>

#include "lockstep/cli/commands.h"
#include "lockstep/cli/sources.h"
#include "lockstep/formats/json.h"

namespace lockstep {
namespace {

bool on_or_off(const Arguments& a, const std::string& name, bool otherwise) {
  const std::string word = a.text(name, otherwise ? "on" : "off");
  if (word != "on" && word != "off")
    invalid_argument("--" + name, "must be on or off: \"{}\"", word);
  return word == "on";
}

/// --optimizer, --loss and --metrics over what the file was compiled with.
void recompile(const Arguments& a, Model& model) {
  if (!a.has("optimizer") && !a.has("loss") && !a.has("metrics")) {
    if (!model.is_compiled())
      invalid_argument("model",
                       "was saved without a compile configuration: give --optimizer and --loss");
    return;
  }
  Json config = model.is_compiled() ? model.compile_config().json : Json::object();
  if (a.has("optimizer"))
    config["optimizer"] = optimizer_to_config(*optimizer_from_config(Json(a.text("optimizer"))));
  if (!config.contains("optimizer"))
    config["optimizer"] = optimizer_to_config(*optimizer_from_config(Json("rmsprop")));
  if (a.has("loss")) config["loss"] = a.text("loss");
  if (a.has("metrics")) {
    Json metrics = Json::array();
    std::string list = a.text("metrics");
    for (size_t at = 0; at <= list.size();) {
      const size_t comma = std::min(list.find(',', at), list.size());
      if (comma > at) metrics.push_back(list.substr(at, comma - at));
      at = comma + 1;
    }
    config["metrics"] = metrics;
  }
  model.compile(config);
}

/// The run folder holds what is needed to repeat the run, and the history.
void write_run(const Arguments& a, const std::string& word, const FitArguments& fit, Model& model,
               const History& history) {
  const std::filesystem::path folder = a.text("run");
  Json run;
  run["model"] = word;
  run["data"] = a.text("data");
  run["batch_size"] = fit.batch_size;
  run["epochs"] = fit.epochs;
  run["seed"] = fit.seed;
  run["shuffle"] = fit.shuffle;
  run["tower_size"] = model.trainer()->tower_size();
  run["devices"] = fit.devices;
  run["backend"] = model.trainer()->backend().version();
  write_file_atomically(folder / "run.json", dump_json(run, 1));
  std::string csv = "epoch";
  for (const auto& [name, values] : history.all()) csv += "," + name;
  csv += "\n";
  for (int64_t epoch = 0; epoch < fit.epochs; ++epoch) {
    csv += std::to_string(epoch);
    for (const auto& [name, values] : history.all())
      if (epoch < static_cast<int64_t>(values.size()))
        csv += fmt::format(",{}", values[static_cast<size_t>(epoch)]);
    csv += "\n";
  }
  write_file_atomically(folder / "history.csv", csv);
}

}  // namespace

int run_train(const Arguments& a) {
  for (const char* later : {"resume", "checkpoint-every", "keep"})
    if (a.has(later))
      unsupported(std::string("--") + later, "checkpoints and resume are not supported yet");
  if (a.text("precision", "float32") != "float32")
    unsupported("--precision", "only float32 is supported: \"{}\"", a.text("precision"));
  const std::string word = a.only("MODEL");
  Model model = open_model(word);
  if (a.has("weights")) model.load_weights(a.text("weights"));
  recompile(a, model);
  if (!a.has("data")) invalid_argument("--data", "is needed: fashion-mnist, idx:DIR or FILE.npz");
  FitArguments fit;
  fit.batch_size = a.integer("batch-size", fit.batch_size);
  fit.epochs = a.integer("epochs", fit.epochs);
  fit.initial_epoch = a.integer("initial-epoch", 0);
  fit.steps_per_epoch = a.integer("steps-per-epoch", -1);
  fit.seed = static_cast<uint64_t>(a.integer("seed", 0));
  fit.devices = a.text("devices", "cpu");
  fit.tower_size = a.integer("tower-size", 0);
  if (a.has("tower-size") && fit.tower_size < 1)
    invalid_argument("--tower-size", "must be >= 1: {}", fit.tower_size);
  fit.shuffle = on_or_off(a, "shuffle", true);
  const std::string batchnorm = a.text("batchnorm", "tower");
  if (batchnorm != "tower" && batchnorm != "global")
    invalid_argument("--batchnorm", "must be tower or global: \"{}\"", batchnorm);
  fit.global_batchnorm = batchnorm == "global";
  const DatasetPtr data = open_data(a.text("data"), Part::kTrain, model);
  if (a.has("validation"))
    fit.validation_data = open_data(a.text("validation"), Part::kTest, model);
  if (a.has("run")) {
    std::error_code error;
    std::filesystem::create_directories(a.text("run"), error);
    if (error)
      invalid_argument("--run", "the folder {} cannot be made: {}", a.text("run"), error.message());
  }
  // Found out before the training, not after it.
  for (const char* output : {"save", "losses"})
    if (const auto folder = std::filesystem::path(a.text(output)).parent_path();
        !folder.empty() && !std::filesystem::is_directory(folder))
      fail(ErrorCode::kNotFound, std::string("--") + output, "the folder {} must exist",
           folder.string());
  const History history = model.fit(data, fit);
  if (a.has("run")) write_run(a, word, fit, model, history);
  if (a.has("losses")) write_losses(a.text("losses"), history.step_losses);
  if (a.has("save")) model.save(a.text("save"));
  return 0;
}

}  // namespace lockstep
