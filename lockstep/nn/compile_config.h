// What a model is compiled with, and its JSON form in a .keras file ("compile_config").
#pragma once

#include <string>
#include <vector>

#include "lockstep/nn/loss.h"
#include "lockstep/nn/metric.h"
#include "lockstep/nn/optimizer.h"

namespace lockstep {

/// Loss, weight and metrics of one output. Metrics stay JSON until shapes are known.
struct OutputCompileConfig {
  LossPtr loss;  // null: this output has none
  double loss_weight = 1.0;
  std::vector<Json> metrics, weighted_metrics;
};

struct CompileConfig {
  OptimizerPtr optimizer;                    // null: the file has none
  std::vector<OutputCompileConfig> outputs;  // in the order of the network's outputs
  Json json;  // the object as it came or as Keras would write it; written back on saving
};

/// Reads "compile_config" for outputs of these names: every nesting Keras accepts for loss,
/// loss_weights, metrics, weighted_metrics (one, list, dict by output name, list of lists).
/// Throws InvalidArgument naming unknown output names and wrong counts; Unsupported for
/// run_eagerly and what Lockstep lacks.
CompileConfig compile_config_from_json(const Json& json,
                                       const std::vector<std::string>& output_names);

/// The object Keras would write for a configuration made in code (`json` is not looked at): one
/// output's loss and metrics bare, those of several as lists.
Json compile_config_to_json(const CompileConfig& config);

}  // namespace lockstep
