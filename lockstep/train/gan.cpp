#include "lockstep/train/gan.h"

#include <algorithm>
#include <cmath>
#include <set>
#include <utility>

#include "lockstep/backend/devices.h"
#include "lockstep/data/batches.h"
#include "lockstep/formats/png.h"
#include "lockstep/train/progress.h"
#include "lockstep/train/run.h"
#include "lockstep/train/run_settings.h"

namespace lockstep {
namespace {

constexpr int64_t kGridColumns = 8, kGridImages = kGridColumns * kGridColumns;

class GanFit {
 public:
  GanFit(const GanModels& models, const DatasetPtr& images, const GanArguments& arguments)
      : models_(models),
        images_(images),
        a_(arguments),
        display_(arguments.sink, arguments.verbose) {
    check_arguments();
    check_models();
    check_images();
    steps_in_epoch_ = images_->size() / a_.batch_size;
    ones_ = full({a_.batch_size, 1}, 1);
    zeros_ = full({a_.batch_size, 1}, 0);
    train_.devices = a_.devices;
    train_.tower_size = a_.tower_size;
    train_.seed = a_.seed;
    train_.global_batchnorm = a_.global_batchnorm;
    predict_.batch_size = a_.batch_size;
    predict_.devices = a_.devices;
    predict_.tower_size = a_.tower_size;
    samples_ = a_.samples;
    if (samples_.empty() && !a_.run.empty() && makes_images()) samples_ = a_.run / "samples";
    for (const Model* model : {&models_.generator, &models_.discriminator, &models_.gan})
      model->network()->initialize(a_.seed);
    if (!a_.run.empty()) open_run();
    if (!samples_.empty()) make_folder(samples_);
  }

  GanHistory run() {
    if (run_) begin_run();
    bool is_first = true;
    const int64_t steps = a_.epochs * steps_in_epoch_;
    if (step_ < steps && step_ % steps_in_epoch_ != 0) begin_epoch();
    while (step_ < steps) {
      if (a_.should_stop && a_.should_stop()) {
        history_.is_interrupted = true;
        break;
      }
      if (step_ % steps_in_epoch_ == 0) begin_epoch();
      train_step();
      ++step_;
      if (std::exchange(is_first, false)) advise();
      if (a_.on_step) a_.on_step(step_, history_.d_losses.back(), history_.g_losses.back());
      const bool ends_epoch = step_ % steps_in_epoch_ == 0;
      if (ends_epoch) end_epoch();
      if (a_.sample_every > 0 ? step_ % a_.sample_every == 0 || step_ == steps : ends_epoch)
        write_samples();
      if (ends_epoch || (a_.checkpoint_every > 0 && step_ % a_.checkpoint_every == 0))
        write_checkpoint();
    }
    if (history_.is_interrupted) write_checkpoint();
    finish_run();
    return std::move(history_);
  }

 private:
  void check_arguments() const {
    if (a_.epochs < 1) invalid_argument("epochs", "must be >= 1: {}", a_.epochs);
    if (a_.batch_size < 1) invalid_argument("batch_size", "must be >= 1: {}", a_.batch_size);
    require_samples(*images_, "data");
    if (images_->size() < a_.batch_size)
      invalid_argument("batch_size", "must be at most the {} samples there are: {}",
                       images_->size(), a_.batch_size);
    if (a_.checkpoint_every < 0)
      invalid_argument("checkpoint_every", "must be >= 1 steps, or 0 for ends of epochs: {}",
                       a_.checkpoint_every);
    if (a_.sample_every < 0)
      invalid_argument("sample_every", "must be >= 1 steps, or 0 for ends of epochs: {}",
                       a_.sample_every);
    if (a_.sample_every > 0 && a_.run.empty() && a_.samples.empty())
      invalid_argument("sample_every",
                       "needs a folder for the pictures, of the run or their own: none came");
    if (a_.run.empty() && a_.resume)
      invalid_argument("resume", "needs a run folder to go on from: none came");
    parse_devices(a_.devices);
  }

  void check_models() const {
    const Network &generator = *models_.generator.network(),
                  &discriminator = *models_.discriminator.network(), &gan = *models_.gan.network();
    for (const Network* network : {&generator, &discriminator, &gan})
      if (network->inputs().size() != 1 || network->outputs().size() != 1)
        invalid_argument(network->name(), "must have one input and one output: it has {} and {}",
                         network->inputs().size(), network->outputs().size());
    for (const Model* model : {&models_.discriminator, &models_.gan})
      if (!model->is_compiled() || !model->compile_config().optimizer)
        invalid_argument(model->network()->name(), "must be compiled with an optimizer");
    const auto shape = [](const std::vector<Tensor>& tensors) { return tensors[0].spec.shape; };
    const auto require_shape = [](const char* what, const Shape& came, const Shape& wanted) {
      if (came != wanted)
        invalid_argument("gan", "{} must be {}: {} came", what, wanted.str(), came.str());
    };
    require_shape("the generator's result", shape(generator.outputs()),
                  shape(discriminator.inputs()));
    require_shape("the gan's input", shape(gan.inputs()), shape(generator.inputs()));
    require_shape("the discriminator's result", shape(discriminator.outputs()), {-1, 1});
    require_shape("the gan's result", shape(gan.outputs()), {-1, 1});
    if (!makes_images() && !a_.samples.empty())
      invalid_argument("samples",
                       "need images [height, width, 1 or 3 channels]: the generator makes {}",
                       shape(generator.outputs()).without_rows().str());
    std::set<const Variable*> in_gan, trained;
    for (const VariablePtr& variable : gan.all_variables()) in_gan.insert(variable.get());
    for (const VariablePtr& variable : models_.gan.trainable_variables())
      trained.insert(variable.get());
    for (const Network* inner : {&generator, &discriminator})
      for (const VariablePtr& variable : inner->all_variables())
        if (!in_gan.contains(variable.get()))
          invalid_argument("gan", "must share the weights of \"{}\": it has no \"{}\"",
                           inner->name(), variable->path);
    for (const VariablePtr& variable : discriminator.all_variables())
      if (trained.contains(variable.get()))
        invalid_argument("gan",
                         "the discriminator must be frozen in it: \"{}\" is trained. Call "
                         "discriminator.set_trainable(false) between the two compiles",
                         variable->path);
  }

  /// Before a run folder is made for data that does not fit.
  void check_images() const {
    const HostTensor one = shuffled_batch(images_, {.batch_size = 1});
    bind_data(*dataset(one, full({1, 1}, 1)), *models_.discriminator.network());
  }

  bool makes_images() const {
    const Shape& result = models_.generator.network()->outputs().at(0).spec.shape;
    return result.rank() == 4 && (result[3] == 1 || result[3] == 3);
  }

  // -- a step

  HostTensor noise(const char* stream, int64_t rows, int64_t step) const {
    const Shape row = models_.generator.network()->inputs()[0].spec.shape.without_rows();
    return random_normal(row.with_rows(rows), a_.seed, stream, step);
  }

  HostTensor generate(const HostTensor& from) {
    return std::move(models_.generator.predict(dataset(from), predict_)[0].tensor);
  }

  void train_step() {
    const HostTensor real =
        shuffled_batch(images_, {.batch_size = a_.batch_size, .seed = a_.seed, .step = step_});
    const HostTensor fake = generate(noise("discriminator", a_.batch_size, step_));
    Model& discriminator = models_.discriminator;
    const double on_real = discriminator.train_on_batch(real, ones_, train_)[0].second,
                 on_fake = discriminator.train_on_batch(fake, zeros_, train_)[0].second;
    history_.d_losses.push_back((on_real + on_fake) / 2);
    history_.g_losses.push_back(
        models_.gan.train_on_batch(noise("generator", a_.batch_size, step_), ones_, train_)[0]
            .second);
    if (display_.is_due()) display_.draw(steps_of_epoch(), steps_in_epoch_, logs());
  }

  // -- what the user sees

  void advise() const {
    const Trainer& trainer = *models_.gan.trainer();
    for (const std::string& line : {trainer.idle_devices(), trainer.normalised_by_tower()})
      if (!line.empty()) display_.log(line);
  }

  /// Means over the epoch's steps so far.
  Logs logs() const {
    const auto count = static_cast<size_t>(steps_of_epoch());
    const auto mean = [count](const std::vector<double>& losses) {
      double sum = 0;
      for (size_t i = losses.size() - count; i < losses.size(); ++i) sum += losses[i];
      return sum / static_cast<double>(std::max<size_t>(count, 1));
    };
    return {{"d_loss", mean(history_.d_losses)}, {"g_loss", mean(history_.g_losses)}};
  }

  int64_t steps_of_epoch() const {
    const auto done = static_cast<int64_t>(history_.d_losses.size());
    return done == 0 ? 0 : (done - 1) % steps_in_epoch_ + 1;
  }

  void begin_epoch() {
    display_.log(fmt::format("Epoch {}/{}", step_ / steps_in_epoch_ + 1, a_.epochs));
    display_.begin_epoch();
    first_step_ = step_;
  }

  void end_epoch() {
    const Logs now = logs();
    display_.end_epoch(steps_in_epoch_, steps_in_epoch_, step_ - first_step_, now);
    history_.epochs.append(now);
    write_history();
  }

  void write_samples() {
    if (samples_.empty()) return;
    const Bytes picture = image_grid(generate(noise("samples", kGridImages, 0)), kGridColumns);
    try {
      write_file_atomically(samples_ / fmt::format("step-{:08}.png", step_), picture);
    } catch (const Error& error) {
      // No reason to lose what was learnt.
      display_.warn(
          fmt::format("The picture of step {} could not be written: {}", step_, error.what()));
    }
  }

  // -- the run folder

  /// Everything that the numbers depend on, and the devices.
  Json run_description() const {
    Json json = a_.run_details.is_null() ? Json::object() : a_.run_details;
    json["samples"] = images_->size();
    json["data_digest"] = sample_digest(*images_);
    json["batch_size"] = a_.batch_size;
    json["epochs"] = a_.epochs;
    json["seed"] = a_.seed;
    json["batchnorm"] = a_.global_batchnorm ? "global" : "tower";
    json["precision"] = "float32";
    json["tower_size"] = train_.tower_size;
    json["compile"] = {{"discriminator", models_.discriminator.compile_config().json},
                       {"gan", models_.gan.compile_config().json}};
    json["devices"] = a_.devices;
    return json;
  }

  /// Devices may differ, a tower size that was not asked for is the old one, and epochs may become
  /// more.
  void check_same_run(Json before) {
    if (a_.tower_size == 0)
      train_.tower_size = predict_.tower_size = before.at("tower_size").get<int64_t>();
    Json now = run_description();
    if (a_.epochs >= before.at("epochs").get<int64_t>()) now["epochs"] = before.at("epochs");
    for (Json* one : {&before, &now}) {
      one->erase("devices");
      for (const char* model : {"discriminator", "gan"})
        forget_optimizer_name((*one)["compile"][model]);
    }
    refuse_difference(a_.run.string(), "", before, now);
  }

  void open_run() {
    run_ = std::make_unique<Run>(
        a_.run, RunOptions{a_.keep, [this](std::string_view line) { display_.warn(line); }});
    if (run_->has_checkpoints() && !a_.resume)
      invalid_argument(
          a_.run.string(),
          "has checkpoints already: resume to go on from them, or choose another folder");
    run_->add("generator", models_.generator);
    run_->add("discriminator", models_.discriminator);
    run_->add("gan", models_.gan);
    is_resumed_ = a_.resume && run_->resume([&](const Json& state, const auto&) {
      checked_json(a_.run.string(), [&] { check_same_run(state.at("arguments")); });
    });
  }

  void begin_run() {
    Json& state = run_->state();
    if (is_resumed_) {
      checked_json(a_.run.string(), [&] {
        step_ = run_->counter("step");
        const auto losses = run_->tensor("step_losses").data<double>();
        if (static_cast<int64_t>(losses.size()) != 2 * step_)
          fail(ErrorCode::kDataLoss, a_.run.string(), "its checkpoint of step {} has {} losses",
               step_, losses.size());
        for (int64_t i = 0; i < step_; ++i) {
          history_.d_losses.push_back(losses[static_cast<size_t>(2 * i)]);
          history_.g_losses.push_back(losses[static_cast<size_t>(2 * i + 1)]);
        }
        history_.epochs.restore(state.at("history"));
        const std::string before = state.at("arguments").at("devices");
        if (device_kind(before) != device_kind(a_.devices))
          display_.warn(
              fmt::format("The run was made with devices {}, and goes on with {}: to rounding, not "
                          "bit for bit",
                          before, a_.devices));
      });
      checkpointed_ = step_;
      write_history();
      display_.log(fmt::format("Going on after step {}", step_));
    }
    state["arguments"] = run_description();
    write_file_atomically(a_.run / "run.json", dump_json(state["arguments"], 1));
    if (is_resumed_) return;
    write_history();
    write_checkpoint();
    run_->finish();
  }

  static std::string device_kind(const std::string& devices) {
    return devices.substr(0, devices.find(':'));
  }

  void write_checkpoint() {
    if (!run_ || checkpointed_ == step_) return;
    checkpointed_ = step_;
    run_->counter("step") = step_;
    run_->state()["history"] = history_.epochs.state();
    std::vector<double> losses;
    for (size_t i = 0; i < history_.d_losses.size(); ++i) {
      losses.push_back(history_.d_losses[i]);
      losses.push_back(history_.g_losses[i]);
    }
    run_->tensors()["step_losses"] =
        HostTensor::from<double>({step_, 2}, std::span<const double>(losses));
    run_->checkpoint(step_);
  }

  /// Small, and written whole: a resumed run has the rows of the unbroken one.
  void write_history() const {
    if (a_.run.empty()) return;
    std::string text = "epoch,d_loss,g_loss\n";
    const auto& all = history_.epochs.all();
    for (size_t epoch = 0; !all.empty() && epoch < all[0].second.size(); ++epoch)
      text += fmt::format("{},{},{}\n", epoch, all[0].second[epoch], all[1].second[epoch]);
    write_file_atomically(a_.run / "history.csv", text);
  }

  void finish_run() {
    if (!run_) return;
    try {
      run_->finish();
    } catch (const Error& error) {
      history_.unwritten_checkpoint = error.what();
    }
  }

  GanModels models_;
  DatasetPtr images_;
  const GanArguments& a_;
  FitArguments train_;
  EvaluateArguments predict_;
  std::filesystem::path samples_;
  HostTensor ones_, zeros_;  // what the discriminator is told: real, and not
  int64_t steps_in_epoch_ = 0;
  ProgressDisplay display_;
  std::unique_ptr<Run> run_;
  bool is_resumed_ = false;

  int64_t step_ = 0, checkpointed_ = -1;
  GanHistory history_;
  int64_t first_step_ = 0;  // of this epoch, in this process
};

}  // namespace

GanHistory fit_gan(const GanModels& models, const DatasetPtr& images,
                   const GanArguments& arguments) {
  return GanFit(models, images, arguments).run();
}

Bytes image_grid(const HostTensor& images, int64_t columns) {
  const Shape& shape = images.shape();
  if (shape.rank() != 4 || (shape[3] != 1 && shape[3] != 3))
    invalid_argument("image_grid",
                     "images must be [n, height, width, channels] with 1 or 3 channels: {} came",
                     shape.str());
  if (columns < 1) invalid_argument("image_grid", "`columns` must be >= 1: {}", columns);
  constexpr int64_t kGap = 2;
  const int64_t rows = (shape[0] + columns - 1) / columns, channels = shape[3];
  const int64_t height = rows * (shape[1] + kGap) + kGap,
                width = columns * (shape[2] + kGap) + kGap;
  std::vector<uint8_t> pixels(static_cast<size_t>(height * width * channels), 0);
  const auto values = images.data<float>();
  size_t from = 0;
  for (int64_t n = 0; n < shape[0]; ++n)
    for (int64_t y = 0; y < shape[1]; ++y)
      for (int64_t x = 0; x < shape[2]; ++x)
        for (int64_t c = 0; c < channels; ++c, ++from) {
          const int64_t row = n / columns * (shape[1] + kGap) + kGap + y,
                        column = n % columns * (shape[2] + kGap) + kGap + x;
          pixels[static_cast<size_t>((row * width + column) * channels + c)] =
              static_cast<uint8_t>(std::lround(std::clamp(values[from], 0.0f, 1.0f) * 255.0f));
        }
  return write_png(pixels, height, width, channels);
}

}  // namespace lockstep
