#include "lockstep/io/keras_file.h"

#include <algorithm>
#include <map>
#include <set>
#include <unordered_map>

#include "lockstep/formats/hdf5.h"
#include "lockstep/formats/json.h"
#include "lockstep/formats/zip.h"
#include "lockstep/io/legacy_model.h"
#include "lockstep/io/legacy_weights.h"

namespace lockstep {
namespace {

constexpr std::string_view kConfig = "config.json", kMetadata = "metadata.json",
                           kWeights = "model.weights.h5";
// One date for all files: equal models give equal bytes.
constexpr std::string_view kMetadataText =
    R"({"keras_version": "3.15.1", "date_saved": "2026-01-01@00:00:00"})";

std::string joined(const std::string& path, const std::string& name) {
  return path.empty() ? name : path + "/" + name;
}

/// A layer and the group of the weights file that holds its variables: "layers/dense_1".
struct SavedLayer {
  std::string path;
  const Layer* layer;
};

/// Every layer once, under its first path, in the order in which Keras walks them.
void walk(const Layer& layer, const std::string& path, std::set<const Layer*>& visited,
          std::vector<SavedLayer>& out) {
  if (!visited.insert(&layer).second) return;
  out.push_back({path, &layer});
  std::map<std::string, int> counts;
  const auto* network = dynamic_cast<const Network*>(&layer);
  for (const LayerPtr& child : layer.layers()) {
    if (network != nullptr && network->kind() == Network::Kind::kSequential &&
        child->class_name() == "InputLayer")
      continue;
    std::string name = snake_case(child->class_name());
    const int seen = counts[name]++;
    if (seen > 0) name += fmt::format("_{}", seen);
    walk(*child, joined(path, "layers/" + name), visited, out);
  }
}

std::vector<SavedLayer> saved_layers(const Network& network) {
  std::set<const Layer*> visited;
  std::vector<SavedLayer> out;
  walk(network, "", visited, out);
  return out;
}

std::string variable_path(const SavedLayer& saved, size_t index) {
  return joined(saved.path, fmt::format("vars/{}", index));
}

/// `path`: of the model in the file.
void write_optimizer(Hdf5Writer& h5, const std::string& path,
                     const std::optional<Json>& compile_config, const OptimizerState& optimizer) {
  const std::string group = joined(path, "optimizer/vars");
  h5.add_group(group);
  std::string name = "optimizer";
  if (compile_config && compile_config->contains("optimizer") &&
      (*compile_config)["optimizer"].is_object())
    name = (*compile_config)["optimizer"].value("config", Json::object()).value("name", name);
  h5.add_text_attribute(group, "name", name);
  int index = 0;
  const auto add = [&](const HostTensor& tensor) {
    h5.add_dataset(fmt::format("{}/{}", group, index++), tensor);
  };
  add(HostTensor::scalar<int64_t>(optimizer.iterations));
  if (optimizer.learning_rate) add(HostTensor::scalar<float>(*optimizer.learning_rate));
  for (const OptimizerVariable& variable : optimizer.variables) add(variable.value);
}

Bytes write_weights(const ModelSnapshot& snapshot, bool with_optimizers) {
  std::unordered_map<const Variable*, const HostTensor*> values;
  const std::vector<VariablePtr> variables = snapshot.network->all_variables();
  LOCKSTEP_CHECK(variables.size() == snapshot.values.size());
  for (size_t i = 0; i < variables.size(); ++i) values[variables[i].get()] = &snapshot.values[i];
  Hdf5Writer h5;
  h5.add_group("layers");
  for (const SavedLayer& saved : saved_layers(*snapshot.network)) {
    const std::string group = joined(saved.path, "vars");
    h5.add_group(group);
    h5.add_text_attribute(group, "name", saved.layer->name());
    if (!saved.layer->layers().empty()) h5.add_group(joined(saved.path, "layers"));
    for (size_t i = 0; i < saved.layer->variables().size(); ++i)
      h5.add_dataset(variable_path(saved, i), *values.at(saved.layer->variables()[i].get()));
  }
  if (with_optimizers) {
    if (snapshot.optimizer) write_optimizer(h5, "", snapshot.compile_config, *snapshot.optimizer);
    for (const InnerModel& inner : snapshot.inner)
      if (inner.optimizer) write_optimizer(h5, inner.path, inner.compile_config, *inner.optimizer);
  }
  return h5.finish();
}

/// Variables of layers that the network does not have are not passed over.
void refuse_other_layers(const Hdf5Reader& h5, const std::string& where, const Network& network) {
  std::set<std::string> known;
  for (const SavedLayer& saved : saved_layers(network)) known.insert(saved.path);
  for (const std::string& path : known) {
    const std::string children = joined(path, "layers");
    if (!h5.has_group(children)) continue;
    for (const std::string& name : h5.list(children))
      if (const std::string child = joined(children, name);
          !known.contains(child) && h5.has_dataset(joined(child, "vars/0")))
        invalid_argument(where,
                         "\"{}\" has {} layers with a place in the file: it holds more, \"{}\"",
                         network.name(), known.size() - 1, child);
  }
}

/// Reads every variable before any is changed.
void read_weights(const Hdf5Reader& h5, const std::string& where, const Network& network) {
  std::vector<std::pair<VariablePtr, HostTensor>> loaded;
  for (const SavedLayer& saved : saved_layers(network)) {
    const auto& variables = saved.layer->variables();
    for (size_t i = 0; i < variables.size(); ++i) {
      const std::string path = variable_path(saved, i);
      if (!h5.has_dataset(path))
        invalid_argument(
            where, "layer \"{}\" needs {} variables, \"{}\" among them: there is no dataset \"{}\"",
            saved.layer->name(), variables.size(), variables[i]->name, path);
      HostTensor value = h5.read(path).as(variables[i]->dtype);
      if (value.shape() != variables[i]->shape)
        invalid_argument(where, "\"{}\" of layer \"{}\" must be {}: \"{}\" is {}",
                         variables[i]->name, saved.layer->name(), variables[i]->shape.str(), path,
                         value.shape().str());
      loaded.emplace_back(variables[i], std::move(value));
    }
    const std::string extra = variable_path(saved, variables.size());
    if (h5.has_dataset(extra))
      invalid_argument(where, "layer \"{}\" has {} variables: the file holds more, \"{}\"",
                       saved.layer->name(), variables.size(), extra);
  }
  refuse_other_layers(h5, where, network);
  for (auto& [variable, value] : loaded) variable->value = std::move(value);
}

bool has_schedule(const std::optional<Json>& compile_config) {
  if (!compile_config || !compile_config->contains("optimizer") ||
      !(*compile_config)["optimizer"].is_object())
    return false;
  const Json config = (*compile_config)["optimizer"].value("config", Json::object());
  return config.contains("learning_rate") && config["learning_rate"].is_object();
}

/// `path`: of the model in the file.
std::optional<OptimizerState> read_optimizer(const Hdf5Reader& h5, const std::string& path,
                                             const std::string& where, bool schedule,
                                             bool is_keras2) {
  const std::string group = joined(path, "optimizer/vars");
  const auto place = [&](int index) { return fmt::format("{}/{}", group, index); };
  if (!h5.has_group(group) || !h5.has_dataset(place(0))) return std::nullopt;
  OptimizerState state;
  const auto read = [&](int index) { return h5.read(place(index)); };
  const HostTensor iterations = read(0).as(DType::kS64);
  if (iterations.size() != 1)
    fail(ErrorCode::kDataLoss, where, "{} must be one number of iterations: {}", place(0),
         iterations.type().str());
  state.iterations = iterations.data<int64_t>()[0];
  int next = 1;
  // Keras 2 kept the rate elsewhere at times; its slots are never scalars.
  const bool has_rate =
      h5.has_dataset(place(1)) && !schedule && !(is_keras2 && h5.shape(place(1)).rank() > 0);
  if (has_rate) {
    const HostTensor rate = read(next++).as(DType::kF32);
    if (rate.size() != 1)
      fail(ErrorCode::kDataLoss, where, "{} must be one learning rate: {}", place(1),
           rate.type().str());
    state.learning_rate = rate.data<float>()[0];
  }
  for (; h5.has_dataset(place(next)); ++next)
    state.variables.push_back({fmt::format("vars/{}", next), read(next)});
  return state;
}

void require_member(const ZipReader& zip, std::string_view member, const std::string& where) {
  if (!zip.contains(member))
    fail(ErrorCode::kDataLoss, where, "a .keras file must hold {}", member);
}

std::optional<Json> compile_config_of(const Json& config) {
  if (!config.is_object() || !config.contains("compile_config") ||
      !config["compile_config"].is_object() || config["compile_config"].empty())
    return std::nullopt;
  return modern_compile_config(config["compile_config"], /*keras_version=*/"3");
}

/// Keras 3 always says its version.
bool is_of_keras2(const ZipReader& zip, const std::string& where) {
  if (!zip.contains(kMetadata)) return false;
  const Json json = parse_json(zip.read(kMetadata), fmt::format("{}: {}", where, kMetadata));
  return json.is_object() && json.contains("keras_version") && json["keras_version"].is_string() &&
         is_older_version(json["keras_version"].get<std::string>(), 3, 0);
}

/// Calls body(layer, json) for each model inside the network, and those inside them, with its
/// serialised object.
template <class Object, class Body>
void for_each_inner(const Network& network, Object& json, const Body& body) {
  const std::vector<LayerPtr> layers = network.saved_layers();
  if (!json.is_object() || !json.contains("config") || !json.at("config").contains("layers") ||
      json.at("config").at("layers").size() != layers.size())
    return;
  for (size_t i = 0; i < layers.size(); ++i) {
    const auto* inner = dynamic_cast<const Network*>(layers[i].get());
    if (inner == nullptr) continue;
    Object& object = json.at("config").at("layers").at(i);
    body(*inner, object);
    for_each_inner(*inner, object, body);
  }
}

KerasFile read_archive(const ZipReader& zip, const std::string& where) {
  for (const std::string_view member : {kConfig, kWeights}) require_member(zip, member, where);
  KerasFile file;
  const Json config = modern_model_config(
      parse_json(zip.read(kConfig), fmt::format("{}: {}", where, kConfig)), file.remarks);
  refuse_code(config, where);
  file.network = network_from_config(config);
  file.compile_config = compile_config_of(config);
  const Hdf5Reader h5(zip.read(kWeights), fmt::format("{}: {}", where, kWeights));
  read_weights(h5, where, *file.network);
  const bool is_keras2 = is_of_keras2(zip, where);
  const auto optimizer_of =
      [&](const std::string& path,
          const std::optional<Json>& compile) -> std::optional<OptimizerState> {
    // Keras writes such files after it saved a model with a schedule as .h5.
    if (compile && compile->value("optimizer", Json()).is_null()) {
      if (h5.has_group(joined(path, "optimizer")))
        file.remarks.push_back(fmt::format(
            "[{}] the optimizer's state is left: compile_config names no optimizer", where));
      return std::nullopt;
    }
    return read_optimizer(h5, path, where, has_schedule(compile), is_keras2);
  };
  file.optimizer = optimizer_of("", file.compile_config);
  for_each_inner(*file.network, config, [&](const Network& inner, const Json& json) {
    const std::string path = saved_path(*file.network, inner);
    const std::optional<Json> compile = compile_config_of(json);
    if (compile)
      file.inner.push_back({path, *compile, optimizer_of(path, compile)});
    else if (h5.has_group(joined(path, "optimizer")))
      unsupported(where,
                  "unsupported: the inner model \"{}\" has an optimizer and no compile "
                  "configuration",
                  inner.name());
  });
  return file;
}

}  // namespace

bool is_hdf5_name(const std::filesystem::path& path) {
  return path.extension() == ".h5" || path.extension() == ".hdf5";
}

std::string saved_path(const Network& network, const Layer& layer) {
  for (const SavedLayer& saved : saved_layers(network))
    if (saved.layer == &layer) return saved.path;
  fail(ErrorCode::kNotFound, network.name(), "has no layer \"{}\"", layer.name());
}

KerasFile parse_keras_file(Bytes bytes, const std::string& where) {
  const ZipReader zip(std::move(bytes), where);
  return with_context(where, [&] { return read_archive(zip, where); });
}

KerasFile read_keras_file(const std::filesystem::path& path) {
  return parse_keras_file(read_file(path), path.string());
}

ModelSnapshot take_snapshot(const std::shared_ptr<const Network>& network,
                            const Json* compile_config, const OptimizerState* optimizer,
                            const TrainableFlags* flags) {
  ModelSnapshot snapshot{network, network_to_config(*network)};
  if (flags != nullptr) flags->write_to(snapshot.config, *network);
  if (compile_config != nullptr) snapshot.compile_config = *compile_config;
  if (optimizer != nullptr) snapshot.optimizer = *optimizer;
  for (const VariablePtr& variable : network->all_variables())
    snapshot.values.push_back(variable->current());
  return snapshot;
}

void write_keras_file(const std::filesystem::path& path, const Network& network,
                      const Json* compile_config, const OptimizerState* optimizer) {
  // The caller's network outlives the snapshot.
  const std::shared_ptr<const Network> borrowed(std::shared_ptr<const Network>(), &network);
  write_file_atomically(path, keras_file_bytes(take_snapshot(borrowed, compile_config, optimizer)));
}

Bytes keras_file_bytes(const ModelSnapshot& snapshot) {
  Json config = snapshot.config;
  if (snapshot.compile_config) config["compile_config"] = *snapshot.compile_config;
  for_each_inner(*snapshot.network, config, [&](const Network& network, Json& json) {
    const std::string path = saved_path(*snapshot.network, network);
    for (const InnerModel& inner : snapshot.inner)
      if (inner.path == path) json["compile_config"] = inner.compile_config;
  });
  ZipWriter zip;
  zip.add(std::string(kMetadata), std::string(kMetadataText));
  zip.add(std::string(kConfig), dump_json(config));
  zip.add(std::string(kWeights), write_weights(snapshot, /*with_optimizers=*/true));
  return zip.finish();
}

Bytes weights_file_bytes(const ModelSnapshot& snapshot) {
  return write_weights(snapshot, /*with_optimizers=*/false);
}

KerasFile read_model_file(const std::filesystem::path& path) {
  const std::string where = path.string();
  if (path.extension() == ".keras") return read_keras_file(path);
  if (is_hdf5_name(path)) return read_legacy_model(Hdf5Reader(read_file(path), where), where);
  if (path.extension() != ".json")
    invalid_argument(where, "a model is a .keras, .h5, .hdf5 or .json file, or zoo:NAME");
  KerasFile file;
  const Json config = modern_model_config(parse_json(read_file(path), where), file.remarks);
  refuse_code(config, where);
  file.network = with_context(where, [&] { return network_from_config(config); });
  file.compile_config = compile_config_of(config);
  return file;
}

void load_weights(const std::filesystem::path& path, Network& network) {
  const std::string where = path.string();
  Bytes bytes = read_file(path);
  if (path.extension() == ".keras") {
    const ZipReader zip(std::move(bytes), where);
    require_member(zip, kWeights, where);
    bytes = zip.read(kWeights);
  }
  const Hdf5Reader h5(std::move(bytes), where);
  if (const auto group = legacy_weights_group(h5))
    load_legacy_weights(h5, *group, where, network);
  else
    read_weights(h5, where, network);
}

}  // namespace lockstep
