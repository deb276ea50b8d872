#include <csignal>
#include <cstdio>
#include <filesystem>

#include "lockstep/cli/commands.h"
#include "lockstep/cli/signals.h"
#include "lockstep/cli/sources.h"
#include "lockstep/formats/json.h"
#include "lockstep/train/gan.h"

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
  // Another loss or other metrics leave the optimizer where it was.
  model.compile_from_config(config, model.is_compiled() && !a.has("optimizer"));
}

/// The last words of a training that a signal stopped, and the exit code a shell expects.
int stopped_by(int signal, size_t steps, bool has_run, const std::string& unwritten_checkpoint) {
  const char* what_now = "the same command with --resume goes on from there";
  if (!has_run) what_now = "without --run nothing is kept";
  if (!unwritten_checkpoint.empty())
    what_now = "its checkpoint could not be written: --resume goes on from the one before";
  std::fprintf(stderr, "Stopped by %s after step %zu; %s\n",
               signal == SIGINT   ? "SIGINT"
               : signal == SIGHUP ? "SIGHUP"
                                  : "SIGTERM",
               steps, what_now);
  return 128 + signal;
}

void require_written(const std::string& unwritten_checkpoint) {
  if (!unwritten_checkpoint.empty())
    invalid_argument("--run", "the newest checkpoint could not be written: {}",
                     unwritten_checkpoint);
}

/// What both kinds of training read alike.
template <class Fit>
void read_common(const Arguments& a, const std::string& model, Fit& fit) {
  fit.batch_size = a.integer("batch-size", fit.batch_size);
  fit.epochs = a.integer("epochs", fit.epochs);
  if (a.integer("seed", 0) < 0)
    invalid_argument("--seed", "must be >= 0: {}", a.integer("seed", 0));
  fit.seed = static_cast<uint64_t>(a.integer("seed", 0));
  fit.devices = a.text("devices", "cpu");
  fit.tower_size = a.integer("tower-size", 0);
  if (a.has("tower-size") && fit.tower_size < 1)
    invalid_argument("--tower-size", "must be >= 1: {}", fit.tower_size);
  const std::string batchnorm = a.text("batchnorm", "tower");
  if (batchnorm != "tower" && batchnorm != "global")
    invalid_argument("--batchnorm", "must be tower or global: \"{}\"", batchnorm);
  fit.global_batchnorm = batchnorm == "global";
  fit.run = a.text("run");
  fit.resume = a.has("resume");
  fit.checkpoint_every = a.integer("checkpoint-every", 0);
  fit.keep = a.integer("keep", fit.keep);
  fit.run_details["model"] = model;
  for (const char* option : {"data", "validation", "weights"})
    if (a.has(option)) fit.run_details[option] = a.text(option);
  // Found out before the training, not after it.
  if (a.has("run") && a.text("run").empty()) invalid_argument("--run", "must name a folder");
  // The run's own folder will be there.
  for (const char* output : {"save", "losses"})
    if (!a.has("run") || std::filesystem::path(a.text(output)).parent_path() != a.text("run"))
      check_output(a, output);
  const std::filesystem::path save = a.text("save");
  if (save.has_extension() && save.extension() != ".keras")
    invalid_argument("--save", "a model is saved as .keras: \"{}\"", save.string());
  if (a.has("save") && a.text("save") == a.text("losses"))
    invalid_argument("--losses", "must be another file than --save: {}", a.text("losses"));
}

int train_gan(const Arguments& a, const std::string& word, Model& gan, GanParts parts) {
  for (const char* option :
       {"validation", "metrics", "steps-per-epoch", "initial-epoch", "shuffle"})
    if (a.has(option)) unsupported(std::string("--") + option, "unsupported for a GAN");
  GanArguments fit;
  read_common(a, word, fit);
  fit.sample_every = a.integer("sample-every", 0);
  fit.samples = a.text("samples");
  const StopSignals signals;
  fit.should_stop = [&] { return signals.received() != 0; };
  const DatasetPtr images = open_source(a.text("data"), Part::kTrain);
  const GanHistory history = fit_gan({parts.generator, parts.discriminator, gan}, images, fit);
  if (history.is_interrupted)
    return stopped_by(signals.received(), history.d_losses.size(), !fit.run.empty(),
                      history.unwritten_checkpoint);
  if (a.has("losses")) write_losses(a.text("losses"), {history.d_losses, history.g_losses});
  if (a.has("save")) gan.save(a.text("save"));
  require_written(history.unwritten_checkpoint);
  return 0;
}

}  // namespace

int run_train(const Arguments& a) {
  for (const char* option : {"resume", "checkpoint-every", "keep"})
    if (a.has(option) && !a.has("run"))
      invalid_argument(std::string("--") + option, "needs a run folder: give --run DIR");
  if (a.text("precision", "float32") != "float32")
    unsupported("--precision", "only float32 is supported: \"{}\"", a.text("precision"));
  const std::string word = a.only("MODEL");
  Model model = open_model(word);
  if (a.has("weights")) model.load_weights(a.text("weights"));
  recompile(a, model);
  if (!a.has("data"))
    invalid_argument("--data", "is needed: fashion-mnist, idx:DIR, npy:DIR or FILE.npz");
  if (std::optional<GanParts> parts = gan_parts(model))
    return train_gan(a, word, model, std::move(*parts));
  for (const char* option : {"samples", "sample-every"})
    if (a.has(option))
      invalid_argument(std::string("--") + option,
                       "is for GANs: models made of a \"generator\" and a \"discriminator\"");
  FitArguments fit;
  read_common(a, word, fit);
  fit.initial_epoch = a.integer("initial-epoch", 0);
  fit.steps_per_epoch = a.integer("steps-per-epoch", -1);
  fit.shuffle = on_or_off(a, "shuffle", true);
  const DatasetPtr data = open_data(a.text("data"), Part::kTrain, model);
  if (a.has("validation"))
    fit.validation_data = open_data(a.text("validation"), Part::kTest, model);
  const StopSignals signals;
  fit.should_stop = [&] { return signals.received() != 0; };
  const History history = model.fit(data, fit);
  if (history.is_interrupted)
    return stopped_by(signals.received(), history.step_losses.size(), !fit.run.empty(),
                      history.unwritten_checkpoint);
  if (a.has("losses")) write_losses(a.text("losses"), {history.step_losses});
  if (a.has("save")) model.save(a.text("save"));
  require_written(history.unwritten_checkpoint);
  return 0;
}

}  // namespace lockstep
