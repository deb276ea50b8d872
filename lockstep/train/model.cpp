#include "lockstep/train/model.h"

#include <algorithm>

#include "lockstep/io/legacy_weights.h"

namespace lockstep {
namespace {

Json metric_list(const std::vector<std::string>& metrics) {
  if (metrics.empty()) return nullptr;
  Json list = Json::array();
  for (const std::string& metric : metrics) list.push_back(metric);
  return list;
}

}  // namespace

// -- history

void History::append(const Logs& logs) {
  for (const auto& [name, value] : logs) {
    auto it = std::find_if(values_.begin(), values_.end(),
                           [&](const auto& entry) { return entry.first == name; });
    if (it == values_.end()) it = values_.insert(values_.end(), {name, {}});
    it->second.push_back(value);
  }
}

const std::vector<double>& History::operator[](const std::string& name) const {
  const auto it = std::find_if(values_.begin(), values_.end(),
                               [&](const auto& entry) { return entry.first == name; });
  if (it == values_.end()) fail(ErrorCode::kNotFound, "history", "no values of \"{}\"", name);
  return it->second;
}

Json History::state() const {
  Json state = Json::object();
  for (const auto& [name, values] : values_) {
    Json& list = state[name] = Json::array();
    for (double value : values) list.push_back(exact_double(value));
  }
  return state;
}

void History::restore(const Json& state) {
  values_.clear();
  for (const auto& [name, list] : state.items()) {
    auto& values = values_.emplace_back(name, std::vector<double>{}).second;
    for (const Json& value : list) values.push_back(parse_exact_double(value, "history"));
  }
}

// -- model

Model::Model(const Tensor& input, const Tensor& output, const std::string& name)
    : Model(std::vector<Tensor>{input}, std::vector<Tensor>{output}, name) {}
Model::Model(std::vector<Tensor> inputs, std::vector<Tensor> outputs, const std::string& name)
    : network_(Network::functional(std::move(inputs), std::move(outputs), name)) {}
Model::Model(NetworkPtr network) : network_(std::move(network)) {}

Model Model::from_file(KerasFile file) {
  Model model(std::move(file.network));
  if (file.compile_config) model.compile_from_config(*file.compile_config);
  // As Keras: state of another shape than the optimizer's is not taken up by silence but refused
  // when training starts.
  model.optimizer_state_ = std::move(file.optimizer);
  model.inner_ = std::move(file.inner);
  return model;
}

Model Model::clone(const Model& model) {
  return Model(network_from_config(network_to_config(*model.network())));
}

Model Model::load(const std::filesystem::path& path, const LogSink& sink) {
  KerasFile file = read_model_file(path);
  for (const std::string& remark : file.remarks) sink ? sink(remark) : trace(remark);
  return from_file(std::move(file));
}

void Model::compile_from_config(const Json& compile_config, bool keep_optimizer) {
  CompileConfig compiled = compile_config_from_json(compile_config, network_->output_names());
  keep_state();
  trainer_.reset();
  if (!keep_optimizer) optimizer_state_.reset();
  compile_ = std::move(compiled);
  flags_.emplace(*network_);
}

void Model::compile(const CompileArguments& arguments) {
  const size_t outputs = network_->output_names().size();
  if (arguments.loss.empty()) invalid_argument("compile", "a loss is needed: none came");
  if (arguments.loss.size() != 1 && arguments.loss.size() != outputs)
    invalid_argument("compile", "one loss, or one for each of {} outputs: {} came", outputs,
                     arguments.loss.size());
  Json config;
  config["optimizer"] = optimizer_to_config(*arguments.optimizer.optimizer);
  if (arguments.loss.size() == 1 && outputs == 1) {
    config["loss"] = arguments.loss[0].json;
  } else {
    config["loss"] = Json::array();
    for (size_t i = 0; i < outputs; ++i)
      config["loss"].push_back(arguments.loss[arguments.loss.size() == 1 ? 0 : i].json);
  }
  config["loss_weights"] =
      arguments.loss_weights.empty() ? Json(nullptr) : Json(arguments.loss_weights);
  const auto per_output = [&](const std::vector<std::string>& metrics) {
    if (outputs == 1 || metrics.empty()) return metric_list(metrics);
    Json lists = Json::array();
    for (size_t i = 0; i < outputs; ++i) lists.push_back(metric_list(metrics));
    return lists;
  };
  config["metrics"] = per_output(arguments.metrics);
  config["weighted_metrics"] = per_output(arguments.weighted_metrics);
  config["run_eagerly"] = false;
  config["steps_per_execution"] = 1;
  config["jit_compile"] = false;
  compile_from_config(config);
  // Frozen before its own compile rather than after it, a discriminator never learns; nothing else
  // would tell.
  if (compile_->optimizer && flags_->variables(*network_).empty() &&
      !network_->trainable_variables([](const Layer&) { return true; }).empty())
    trace(
        fmt::format("[{}] compiled with 0 trainable parameters: training will change nothing. "
                    "Set `trainable` before compile",
                    network_->name()));
}

void require_samples(const Dataset& data, const char* where) {
  if (data.size() == 0) invalid_argument(where, "at least one sample is needed: none came");
}

void Model::require_compiled(const char* what) const {
  if (!compile_)
    invalid_argument(network_->name(), "must be compiled to {}: call compile first", what);
}

Trainer& Model::trainer_for(const TrainerOptions& options) {
  // Where compiled programs are kept matters to those that keep any: each run has all of its own.
  const bool keeps_programs = !is_host_kind(options.devices.substr(0, options.devices.find(':')));
  const std::string key =
      fmt::format("{} {} {} {} {} {} {}", options.devices, options.batch_size, options.tower_size,
                  options.seed, static_cast<int>(options.placement), options.global_batchnorm,
                  keeps_programs ? options.program_folder.string() : "");
  if (trainer_ && key == trainer_key_ && !options.before_tower) return *trainer_;
  keep_state();
  trainer_.reset();
  network_->initialize(options.seed);
  trainer_ = std::make_unique<Trainer>(network_, compile_ ? &*compile_ : nullptr, trainable_flags(),
                                       options);
  if (compile_ && compile_->optimizer && optimizer_state_)
    trainer_->load_optimizer_state(*optimizer_state_);
  trainer_key_ = key;
  backend_ = trainer_->backend();
  return *trainer_;
}

/// What training changed, this model's or one's that shares weights, goes back into the network,
/// and the optimizer's state into the kept one.
void Model::keep_state() {
  for (const VariablePtr& variable : network_->all_variables()) variable->current();
  if (trainer_ && compile_ && compile_->optimizer) optimizer_state_ = trainer_->optimizer_state();
}

Logs Model::evaluate(const DatasetPtr& data, const EvaluateArguments& arguments) {
  require_compiled("evaluate");
  require_samples(*data, "data");
  Trainer& trainer = trainer_for({arguments.devices, arguments.batch_size, arguments.tower_size});
  trainer.bind(StepKind::kTest, bind_data(*data, *network_));
  Loader loader(data, trainer.wanted(StepKind::kTest),
                {.batch_size = arguments.batch_size, .shuffle = false});
  MetricTotals totals;
  while (const Batch* batch = loader.next()) trainer.test_step(*batch, totals);
  return trainer.logs(StepKind::kTest, totals);
}

std::vector<NamedTensor> Model::predict(const DatasetPtr& data,
                                        const EvaluateArguments& arguments) {
  Trainer& trainer = trainer_for({arguments.devices, arguments.batch_size, arguments.tower_size});
  trainer.bind(StepKind::kPredict, bind_data(*data, *network_));
  std::vector<NamedTensor> results;
  const std::vector<std::string> names = network_->output_names();
  const std::vector<TensorType> types = trainer.output_row_types();
  for (size_t i = 0; i < types.size(); ++i)
    results.push_back(
        {names[i], HostTensor(types[i].dtype, types[i].shape.with_rows(data->size()))});
  Loader loader(data, trainer.wanted(StepKind::kPredict),
                {.batch_size = arguments.batch_size, .shuffle = false});
  std::vector<void*> outputs(types.size());
  while (const Batch* batch = loader.next()) {
    for (size_t i = 0; i < types.size(); ++i)
      outputs[i] = results[i].tensor.bytes() +
                   static_cast<size_t>(batch->index * arguments.batch_size) * types[i].size_bytes();
    trainer.predict_step(*batch, outputs);
  }
  return results;
}

Logs Model::train_on_batch(const HostTensor& x, const HostTensor& y,
                           const FitArguments& arguments) {
  require_compiled("train");
  const DatasetPtr data = dataset(x, y);
  require_samples(*data, "data");
  const int64_t rows = data->size();
  Trainer& trainer = trainer_for({arguments.devices, rows, arguments.tower_size, arguments.seed,
                                  arguments.placement, arguments.global_batchnorm});
  trainer.bind(StepKind::kTrain, bind_data(*data, *network_));
  MetricTotals totals;
  trainer.train_step(gather_all(data, trainer.wanted(StepKind::kTrain)), totals);
  return trainer.logs(StepKind::kTrain, totals);
}

Logs Model::test_on_batch(const HostTensor& x, const HostTensor& y,
                          const EvaluateArguments& arguments) {
  EvaluateArguments whole = arguments;
  const DatasetPtr data = dataset(x, y);
  whole.batch_size = std::max<int64_t>(1, data->size());
  return evaluate(data, whole);
}

std::vector<NamedTensor> Model::predict_on_batch(const HostTensor& x,
                                                 const EvaluateArguments& arguments) {
  EvaluateArguments whole = arguments;
  const DatasetPtr data = dataset(x);
  whole.batch_size = std::max<int64_t>(1, data->size());
  return predict(data, whole);
}

ModelSnapshot Model::snapshot() {
  keep_state();
  network_->initialize(0);
  const bool has_optimizer = compile_ && compile_->optimizer;
  if (has_optimizer && !optimizer_state_) {
    optimizer_state_.emplace();
    if (!compile_->optimizer->common.learning_rate.schedule)
      optimizer_state_->learning_rate =
          static_cast<float>(compile_->optimizer->common.learning_rate.value);
  }
  ModelSnapshot snapshot =
      take_snapshot(network_, compile_ ? &compile_->json : nullptr,
                    has_optimizer ? &*optimizer_state_ : nullptr, flags_ ? &*flags_ : nullptr);
  snapshot.inner = inner_;
  return snapshot;
}

void Model::save(const std::filesystem::path& path) {
  if (is_hdf5_name(path))
    invalid_argument(path.string(), "a model is saved as .keras: .h5 is written of weights alone");
  write_file_atomically(path, keras_file_bytes(snapshot()));
}

void Model::save_weights(const std::filesystem::path& path) {
  if (!is_hdf5_name(path))
    invalid_argument(path.string(), "a file of weights must end in .weights.h5, .h5 or .hdf5");
  const bool is_of_keras3 = path.string().ends_with(".weights.h5");
  write_file_atomically(
      path, is_of_keras3 ? weights_file_bytes(snapshot()) : legacy_weights_bytes(snapshot()));
}

void Model::check_same_network(const Network& other, const std::string& where) const {
  const auto ours = network_->all_variables(), theirs = other.all_variables();
  const auto our_paths = network_->variable_paths(), their_paths = other.variable_paths();
  const auto text = [](const auto& variables, const auto& paths, size_t i) {
    return i < variables.size() ? paths[i] + variables[i]->shape.str() : "nothing";
  };
  for (size_t i = 0; i < std::max(ours.size(), theirs.size()); ++i) {
    const std::string wanted = text(ours, our_paths, i), came = text(theirs, their_paths, i);
    if (wanted != came)
      invalid_argument(where, "must hold the model \"{}\": variable {} is {} there, {} here",
                       network_->name(), i, came, wanted);
  }
}

void Model::restore(KerasFile file) {
  check_same_network(*file.network, network_->name());
  const auto ours = network_->all_variables(), theirs = file.network->all_variables();
  // A trainer would hold what is outdated now.
  trainer_.reset();
  for (size_t i = 0; i < ours.size(); ++i) ours[i]->set(std::move(theirs[i]->value));
  optimizer_state_ = std::move(file.optimizer);
  inner_ = std::move(file.inner);
}

void Model::set_trainable(bool trainable) {
  network_->set_trainable(trainable);
}

LayerPtr Model::get_layer(const std::string& name) const {
  std::vector<std::string> names;
  for (const LayerPtr& layer : network_->layers()) {
    if (layer->name() == name) return layer;
    names.push_back(layer->name());
  }
  const std::string near = closest_name(name, names);
  fail(ErrorCode::kNotFound, network_->name(), "has no layer \"{}\"{}", name,
       near.empty() ? "" : fmt::format(". Did you mean \"{}\"?", near));
}

Model Model::get_model(const std::string& name) {
  const NetworkPtr network = std::dynamic_pointer_cast<Network>(get_layer(name));
  if (!network) invalid_argument(network_->name(), "\"{}\" is a layer, and no model", name);
  Model model(network);
  const std::string path = saved_path(*network_, *network);
  const auto inner = std::find_if(inner_.begin(), inner_.end(),
                                  [&](const InnerModel& one) { return one.path == path; });
  if (inner == inner_.end()) return model;
  model.compile_from_config(inner->compile_config);
  model.optimizer_state_ = std::move(inner->optimizer);
  inner_.erase(inner);
  return model;
}

void Model::load_weights(const std::filesystem::path& path) {
  keep_state();
  lockstep::load_weights(path, *network_);
  // Other models that share them are to see it.
  for (const VariablePtr& variable : network_->all_variables())
    variable->set(std::move(variable->value));
}

std::vector<HostTensor> Model::get_weights() {
  keep_state();
  network_->initialize(0);
  std::vector<HostTensor> weights;
  for (const VariablePtr& variable : network_->all_variables()) weights.push_back(variable->value);
  return weights;
}

void Model::set_weights(const std::vector<HostTensor>& weights) {
  const std::vector<VariablePtr> variables = network_->all_variables();
  if (weights.size() != variables.size())
    invalid_argument("set_weights", "{} tensors expected: {} came", variables.size(),
                     weights.size());
  for (size_t i = 0; i < weights.size(); ++i)
    if (weights[i].shape() != variables[i]->shape)
      invalid_argument("set_weights", "\"{}\" must be {}: {} came", variables[i]->path,
                       variables[i]->shape.str(), weights[i].shape().str());
  for (size_t i = 0; i < weights.size(); ++i) variables[i]->set(weights[i].as(variables[i]->dtype));
}

TrainableFlags Model::trainable_flags() const {
  return flags_ ? *flags_ : TrainableFlags(*network_);
}

OptimizerState Model::optimizer_state() {
  require_compiled("have optimizer state");
  keep_state();
  return optimizer_state_.value_or(OptimizerState{});
}

}  // namespace lockstep
