// fit's own loop on random data in memory, timed step by step.
#include <algorithm>
#include <cstdio>

#include "lockstep/cli/commands.h"
#include "lockstep/cli/random_data.h"
#include "lockstep/cli/sources.h"
#include "lockstep/formats/json.h"
#include "lockstep/train/gan.h"

namespace lockstep {
namespace {

/// Times each step: the gap between the ends of neighbouring steps, loader and callbacks included.
class StepTimer : public Callback {
 public:
  void on_epoch_begin(TrainingControl&, int64_t) override { last_ = monotonic_seconds(); }
  void on_train_batch_end(TrainingControl&, int64_t, const Logs&) override {
    const double now = monotonic_seconds();
    steps.push_back(now - last_);
    last_ = now;
  }
  std::vector<double> steps;

 private:
  double last_ = 0;
};

/// What the step's kernels reach alone: every kernel, and the rate at which a step of nothing but
/// its convolutions (or, without any, its dot products) would run; of nothing but its towers where
/// the backend cannot tell their kernels apart.
Json roofline(Trainer& trainer, const DatasetPtr& data, int64_t batch_size, double measured) {
  Loader loader(data, trainer.wanted(StepKind::kTrain), {.batch_size = batch_size});
  const std::vector<KernelTime> kernels = trainer.time_kernels(*loader.next(), 5);
  const auto is_convolution = [](const KernelTime& kernel) {
    return kernel.kernel.starts_with("conv2d");
  };
  const bool any_convolution = std::any_of(kernels.begin(), kernels.end(), is_convolution);
  const bool is_whole = std::all_of(kernels.begin(), kernels.end(), [](const KernelTime& kernel) {
    return kernel.kernel == "whole program";
  });
  Json json, list = Json::array();
  double roof_seconds = 0;
  for (const KernelTime& kernel : kernels) {
    if (is_whole || (any_convolution ? is_convolution(kernel) : kernel.flops > 0))
      roof_seconds += kernel.seconds;
    list.push_back({{"kernel", kernel.kernel},
                    {"ms", kernel.seconds * 1e3},
                    {"gflop_per_s", kernel.flops / kernel.seconds * 1e-9}});
  }
  const auto rows = static_cast<double>(std::min(trainer.tower_size(), batch_size));
  const double roof = rows * trainer.device_count() / roof_seconds;
  json["of"] = is_whole ? "towers" : any_convolution ? "convolutions" : "dot products";
  json["samples_per_s"] = roof;
  json["reached"] = measured / roof;
  json["kernels"] = std::move(list);
  return json;
}

void print_roofline(const Json& roof) {
  for (const Json& kernel : roof["kernels"])
    std::printf("%9.3f ms %7.1f GFLOP/s  %s\n", kernel["ms"].get<double>(),
                kernel["gflop_per_s"].get<double>(), kernel["kernel"].get<std::string>().c_str());
  std::printf("its %s alone: %.0f samples/s; the step reaches %.0f %% of that\n",
              roof["of"].get<std::string>().c_str(), roof["samples_per_s"].get<double>(),
              100 * roof["reached"].get<double>());
}

/// A step of a GAN is three: the discriminator twice, then the generator.
int bench_gan(const Arguments& a, Model& gan, GanParts parts, int64_t steps, int64_t warm) {
  if (a.has("roofline")) unsupported("--roofline", "unsupported for a GAN");
  GanArguments fit;
  fit.batch_size = a.integer("batch-size", 256);
  fit.devices = a.text("devices", "cpu");
  fit.tower_size = a.integer("tower-size", 0);
  fit.verbose = 0;
  std::vector<double> times;
  double last = monotonic_seconds();
  fit.on_step = [&](int64_t step, double, double) {
    const double now = monotonic_seconds();
    if (step > warm) times.push_back(now - last);
    last = now;
  };
  const DatasetPtr images = random_data(parts.discriminator, fit.batch_size * (steps + warm));
  fit_gan({parts.generator, parts.discriminator, gan}, images, fit);
  std::sort(times.begin(), times.end());
  const double median = times[times.size() / 2];
  const double rate = static_cast<double>(fit.batch_size) / median;
  if (a.has("json")) {
    std::printf("%s\n", dump_json({{"samples_per_s", rate},
                                   {"step_ms", median * 1e3},
                                   {"batch_size", fit.batch_size}})
                            .c_str());
    return 0;
  }
  std::printf(
      "%.1f samples/s, %.2f ms a step (median of %zu) of discriminator and generator, "
      "batch %lld\n",
      rate, median * 1e3, times.size(), static_cast<long long>(fit.batch_size));
  return 0;
}

}  // namespace

int run_bench(const Arguments& a) {
  Model model = open_model(a.only("MODEL"));
  if (!model.is_compiled()) invalid_argument("model", "must be compiled to be timed");
  const int64_t steps = a.integer("steps", 20), warm = 3;
  if (steps < 1) invalid_argument("--steps", "must be >= 1: {}", steps);
  if (std::optional<GanParts> parts = gan_parts(model))
    return bench_gan(a, model, std::move(*parts), steps, warm);
  FitArguments fit;
  fit.batch_size = a.integer("batch-size", 256);
  fit.devices = a.text("devices", "cpu");
  fit.tower_size = a.integer("tower-size", 0);
  fit.verbose = 0;
  const DatasetPtr data = random_data(model, fit.batch_size * 4);
  fit.epochs = (steps + warm + 3) / 4;
  const auto timer = std::make_shared<StepTimer>();
  fit.callbacks = {timer};
  model.fit(data, fit);
  std::vector<double> times(timer->steps.begin() + warm, timer->steps.end());
  std::sort(times.begin(), times.end());
  const double median = times[times.size() / 2];
  Trainer& trainer = *model.trainer();
  const PhaseTimes phases = trainer.times();
  const double per_step = 1e3 / static_cast<double>(timer->steps.size());
  Json json;
  json["samples_per_s"] = static_cast<double>(fit.batch_size) / median;
  json["step_ms"] = median * 1e3;
  json["batch_size"] = fit.batch_size;
  json["tower_size"] = trainer.tower_size();
  json["devices"] = trainer.device_count();
  json["phases_ms"] = {{"prologue", phases.prologue * per_step},
                       {"towers", (phases.towers - phases.fold) * per_step},
                       {"fold", phases.fold * per_step},
                       {"wait", phases.wait * per_step},
                       {"reduce", phases.reduce * per_step},
                       {"update", phases.update * per_step}};
  json["working_bytes"] = trainer.working_bytes();
  if (a.has("roofline"))
    json["roofline"] =
        roofline(trainer, data, fit.batch_size, static_cast<double>(fit.batch_size) / median);
  if (a.has("json")) {
    std::printf("%s\n", dump_json(json).c_str());
    return 0;
  }
  std::printf(
      "%.0f samples/s, %.2f ms a step (median of %zu), batch %lld in towers of %lld on %d "
      "devices\n",
      static_cast<double>(fit.batch_size) / median, median * 1e3, times.size(),
      static_cast<long long>(fit.batch_size), static_cast<long long>(trainer.tower_size()),
      trainer.device_count());
  std::printf("ms a step over all devices: %s\n", dump_json(json["phases_ms"]).c_str());
  if (a.has("roofline")) print_roofline(json["roofline"]);
  return 0;
}

}  // namespace lockstep
