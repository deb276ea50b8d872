// The model as users know it from Keras: compile, fit, evaluate, predict, save.
#pragma once

#include <filesystem>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "lockstep/data/dataset.h"
#include "lockstep/formats/npy.h"
#include "lockstep/io/keras_file.h"
#include "lockstep/nn/compile_config.h"
#include "lockstep/nn/network.h"
#include "lockstep/train/callbacks.h"
#include "lockstep/train/trainer.h"

namespace lockstep {

/// A loss by name ("mse") or as an object.
struct LossSpec {
  LossSpec(const char* name) : json(name) {}                      // NOLINT: reads as in Keras
  LossSpec(const std::string& name) : json(name) {}               // NOLINT
  LossSpec(const LossPtr& loss) : json(loss_to_config(*loss)) {}  // NOLINT
  Json json;
};

/// One loss, or one for each output: `.loss = "mse"` or `.loss = {"mse", "mae"}`.
struct LossList : std::vector<LossSpec> {
  using std::vector<LossSpec>::vector;
  LossList(const char* name) : std::vector<LossSpec>{LossSpec(name)} {}     // NOLINT
  LossList(const LossPtr& loss) : std::vector<LossSpec>{LossSpec(loss)} {}  // NOLINT
};

/// An optimizer by name ("adam") or as an object.
struct OptimizerSpec {
  OptimizerSpec(const char* name) : optimizer(optimizer_from_config(Json(name))) {}  // NOLINT
  OptimizerSpec(OptimizerPtr object) : optimizer(std::move(object)) {}               // NOLINT
  OptimizerPtr optimizer;
};

struct CompileArguments {
  OptimizerSpec optimizer = "rmsprop";
  /// One for each output, or one alone.
  LossList loss;
  std::vector<std::string> metrics = {};  // of every output
  std::vector<std::string> weighted_metrics = {};
  std::vector<double> loss_weights = {};
};

/// What happened, epoch by epoch: history["loss"][0].
class History {
 public:
  void append(const Logs& logs);
  const std::vector<double>& operator[](const std::string& name) const;
  const std::vector<std::pair<std::string, std::vector<double>>>& all() const { return values_; }
  /// Loss of each step, in order.
  std::vector<double> step_losses;
  /// `should_stop` stopped it before the end.
  bool is_interrupted = false;
  /// Why the newest checkpoint could not be written; "" when it was.
  std::string unwritten_checkpoint;
  /// For checkpoints.
  Json state() const;
  void restore(const Json& state);

 private:
  std::vector<std::pair<std::string, std::vector<double>>> values_;
};

struct FitArguments {
  int64_t batch_size = 32;
  int64_t epochs = 1;
  int64_t initial_epoch = 0;
  int64_t steps_per_epoch = -1;  // -1: the whole dataset
  bool shuffle = true;
  uint64_t seed = 0;
  int verbose = -1;  // 0 silent, 1 a progress bar, 2 one line an epoch, -1: 1 on a terminal, else 2
  std::string devices = "cpu";
  int64_t tower_size = 0;
  Placement placement = Placement::kStatic;
  DatasetPtr validation_data = nullptr;
  double validation_split = 0;  // the last part of the data, before shuffling
  std::vector<CallbackPtr> callbacks = {};
  /// A run folder: checkpoints that training can go on from, and history.csv. Refused when it has
  /// checkpoints already, unless `resume` says to go on from the newest whole one; where there is
  /// none, `resume` starts afresh. Other arguments than devices must be as before.
  std::filesystem::path run = {};
  bool resume = false;
  int64_t checkpoint_every = 0;  // steps; 0: at the ends of epochs only
  int64_t keep = 3;              // newest checkpoints that stay
  Json run_details = nullptr;    // more that run.json holds, and that a resume must find unchanged
  /// Asked between steps: true stops training there, after a checkpoint when there is a run.
  std::function<bool()> should_stop = nullptr;
  bool global_batchnorm = false;
  /// Weight of each class of the (single) output's labels, multiplied into the sample weights.
  std::map<int64_t, double> class_weight = {};
  LogSink sink = nullptr;  // where lines go; null: standard output
  std::function<void(int, int)> before_tower = nullptr;
};

struct EvaluateArguments {
  int64_t batch_size = 32;
  std::string devices = "cpu";
  int64_t tower_size = 0;
};

class Model {
 public:
  Model(const Tensor& input, const Tensor& output, const std::string& name = "");
  Model(std::vector<Tensor> inputs, std::vector<Tensor> outputs, const std::string& name = "");
  explicit Model(NetworkPtr network);
  /// With weights, compile configuration and optimizer state where the file has them: .keras, .h5
  /// or .hdf5 of Keras 2 and 3, .json. What of an old file is left, or read otherwise, goes to
  /// `sink` a line each, without one to standard error.
  static Model load(const std::filesystem::path& path, const LogSink& sink = nullptr);
  static Model from_file(KerasFile file);
  /// The same layers with new first weights, not compiled.
  static Model clone(const Model& model);

  void compile(const CompileArguments& arguments);
  /// As Keras writes it into files. The optimizer's state begins anew, unless `keep_optimizer`
  /// says that the optimizer is the one there was.
  void compile_from_config(const Json& compile_config, bool keep_optimizer = false);
  bool is_compiled() const { return compile_.has_value(); }

  History fit(const DatasetPtr& data, const FitArguments& arguments = {});
  /// Names and values, loss first.
  Logs evaluate(const DatasetPtr& data, const EvaluateArguments& arguments = {});
  /// One tensor an output, [samples, ...], under the output's name.
  std::vector<NamedTensor> predict(const DatasetPtr& data, const EvaluateArguments& arguments = {});
  /// One step on one batch of arrays; returns its loss and metrics.
  Logs train_on_batch(const HostTensor& x, const HostTensor& y, const FitArguments& arguments = {});
  Logs test_on_batch(const HostTensor& x, const HostTensor& y,
                     const EvaluateArguments& arguments = {});
  std::vector<NamedTensor> predict_on_batch(const HostTensor& x,
                                            const EvaluateArguments& arguments = {});

  /// The .keras file: plain Keras opens it, with weights, optimizer state and compile
  /// configuration.
  void save(const std::filesystem::path& path);
  /// Weights alone, without optimizer: a .weights.h5 file, or .h5 and .hdf5 in the layout of Keras
  /// 2, which Keras 3 reads too.
  void save_weights(const std::filesystem::path& path);
  /// From either, or from a whole model's .keras or .h5 file (see lockstep::load_weights).
  void load_weights(const std::filesystem::path& path);

  /// The model as a layer of another one, which shares its weights.
  Tensor operator()(const Tensor& x) const { return LayerHandle(network_)(x); }
  Tensor operator()(const std::vector<Tensor>& xs) const { return LayerHandle(network_)(xs); }
  /// Of all its layers. Counts for models that are compiled from now on: one that was compiled
  /// before goes on as it was, even where it shares these layers.
  void set_trainable(bool trainable);

  const NetworkPtr& network() const { return network_; }
  std::string summary() const { return network_->summary(); }
  const CompileConfig& compile_config() const { return *compile_; }
  /// Weights in Keras's order, and set from tensors of the same shapes.
  std::vector<HostTensor> get_weights();
  void set_weights(const std::vector<HostTensor>& weights);
  OptimizerState optimizer_state();
  /// Of the compile, or of now without one.
  TrainableFlags trainable_flags() const;
  /// What the optimizer trains by these flags, in Keras's order.
  std::vector<VariablePtr> trainable_variables() const {
    return trainable_flags().variables(*network_);
  }
  /// The layer of this name. Throws NotFound naming a near one.
  LayerPtr get_layer(const std::string& name) const;
  /// The nested model of this name as one of its own, with the same layers and weights: what one of
  /// them loads or learns, the other has. Not compiled, unless it came compiled out of a file: then
  /// with its optimizer's state, which goes along with it. Throws NotFound as `get_layer`,
  /// InvalidArgument for a layer that is no model.
  Model get_model(const std::string& name);

  /// The model as it is now, to be written while training goes on.
  ModelSnapshot snapshot();
  /// Takes up weights and optimizer state of a file of the same network (see check_same_network).
  void restore(KerasFile file);
  /// Throws InvalidArgument naming `where` and the first variable that differs in name or shape.
  void check_same_network(const Network& other, const std::string& where) const;
  /// Of the last fit, for the bench: null before.
  Trainer* trainer() { return trainer_.get(); }

 private:
  friend class Fit;
  void require_compiled(const char* what) const;
  Trainer& trainer_for(const TrainerOptions& options);
  void keep_state();

  NetworkPtr network_;
  std::optional<CompileConfig> compile_;
  std::optional<TrainableFlags> flags_;  // of the compile
  std::vector<InnerModel> inner_;        // what a file said of models inside; nobody asked for them
  std::optional<OptimizerState> optimizer_state_;
  std::unique_ptr<Trainer> trainer_;
  std::string trainer_key_;
  /// The last trainer's. Accelerators stay open from one trainer to the next, and programs that
  /// were compiled for them stay known.
  std::shared_ptr<const Backend> backend_;
};

/// Keras's clone_model.
inline Model clone_model(const Model& model) {
  return Model::clone(model);
}

/// Throws InvalidArgument naming `where` for a dataset without samples.
void require_samples(const Dataset& data, const char* where);

}  // namespace lockstep
