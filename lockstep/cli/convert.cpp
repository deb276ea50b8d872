// One kind of file from another.
#include <cstdio>

#include "lockstep/cli/commands.h"
#include "lockstep/cli/sources.h"
#include "lockstep/formats/json.h"

namespace lockstep {
namespace {

/// Weights by variable: "dense/kernel".
Bytes weights_npz(Model& model) {
  std::vector<NamedTensor> tensors;
  const std::vector<HostTensor> weights = model.get_weights();
  const std::vector<VariablePtr> variables = model.network()->all_variables();
  for (size_t i = 0; i < weights.size(); ++i) tensors.push_back({variables[i]->path, weights[i]});
  return write_npz(tensors);
}

Bytes architecture(const Model& model) {
  Json config = network_to_config(*model.network());
  if (model.is_compiled()) config["compile_config"] = model.compile_config().json;
  return dump_json(config, 1) + "\n";
}

}  // namespace

int run_convert(const Arguments& a) {
  if (a.positional().size() != 2)
    invalid_argument("convert", "two words are expected, IN and OUT: {} came",
                     a.positional().size());
  const std::string& out = a.positional()[1];
  check_writable("OUT", out);
  Model model = open_model(a.positional()[0]);
  if (a.has("weights")) model.load_weights(a.text("weights"));
  if (out.ends_with(".keras"))
    model.save(out);
  else if (is_hdf5_name(out))
    model.save_weights(out);
  else if (out.ends_with(".npz"))
    write_file_atomically(out, weights_npz(model));
  else if (out.ends_with(".json"))
    write_file_atomically(out, architecture(model));
  else
    invalid_argument(out,
                     "must end in .keras, .weights.h5, .h5 or .hdf5 (weights), .npz (weights) or "
                     ".json (architecture)");
  return 0;
}

}  // namespace lockstep
