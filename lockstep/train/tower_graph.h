// The graph of one tower: forward pass, loss numerators, metrics and, for training, gradients and
// layer statistics. The same layout of sums for every tower shape.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "lockstep/nn/compile_config.h"
#include "lockstep/nn/network.h"
#include "lockstep/nn/trainable_flags.h"
#include "lockstep/towers/step_plan.h"
#include "lockstep/train/variable_space.h"

namespace lockstep {

enum class StepKind { kTrain, kTest, kPredict };

/// A column of the batch as programs want it: [rows, row_shape...].
struct BatchColumn {
  enum class Role { kInput, kTarget, kSampleWeight };
  Role role;
  int index;  // which input, or which output of the network
  std::string name;
  TensorType row_type;
};

/// A metric of one output, with the name under which it is reported.
struct MetricEntry {
  MetricPtr metric;
  int output;
  bool is_weighted;
  std::string name;
  int sum_count = 0;
  int64_t first_sum = 0;  // element offset in the sums
};

/// moving = moving * momentum + statistic / (rows * positions_per_row) * (1 - momentum)
struct MovingAverage {
  VariablePtr variable;
  double momentum;
  int64_t positions_per_row;
  int64_t sum_offset;
};

/// How a loss value's denominator D comes about.
enum class DenominatorKind { kValues, kDataDependent, kOne };

struct LossEntry {
  int output;
  LossPtr loss;
  double weight;
  DenominatorKind denominator;
  int64_t values_per_row = 1;
  Shape values_shape{};       // of one row
  Shape prediction_shape{};   // of one row
  int64_t sum_offset = 0;     // numerator
  int64_t scalar_offset = 0;  // bytes: the cotangent's seed, weight / D
};

/// Where everything is; equal for all tower shapes of one step kind.
struct StepLayout {
  std::vector<BatchColumn> columns;
  std::vector<VariablePtr> trainable;     // in Keras's order
  std::vector<int64_t> gradient_offsets;  // of each trainable, in the sums
  std::vector<bool> has_gradient;         // false: nothing flows; the optimizer leaves it alone
  int64_t gradients_size = 0;             // the sums begin with the gradients
  std::vector<MovingAverage> moving_averages;
  std::vector<LossEntry> losses;
  std::vector<int64_t> penalty_offsets;  // activity penalties: numerators, divided by rows
  std::vector<MetricEntry> metrics;
  int64_t sums_size = 0;
  // Scalars, byte offsets in the step's scalar block.
  std::vector<std::optional<int64_t>> key_seeds;  // distinct layer seeds; none: the run's seed
  std::vector<TensorType> output_row_types;       // kPredict
};

/// Byte offsets of a step's scalars: u32 train step, f32 rows of the batch and its inverse, keys
/// (u32[2] each), loss seeds (f32 each).
struct ScalarBlock {
  static constexpr int64_t kTrainStep = 0, kGlobalRows = 4, kInverseRows = 8, kKeys = 64;
  static constexpr int64_t kMaxKeys = 256, kLossSeeds = kKeys + 8 * kMaxKeys, kMaxLosses = 256;
  static constexpr int64_t kSize = kLossSeeds + 4 * kMaxLosses;
};

struct TowerGraph {
  std::unique_ptr<Graph> graph;
  std::vector<TowerInput> inputs;
  std::vector<TowerOutput> outputs;
  StepLayout layout;
};

/// What a graph is built from. Pointers outlive the call only.
struct TowerGraphSpec {
  StepKind kind;
  Network* network;
  const CompileConfig* compile = nullptr;  // not for kPredict
  const VariableSpace* variables;
  const TrainableFlags* flags;         // captured at compile
  std::vector<VariablePtr> trainable;  // by these flags
  std::vector<TensorType> inputs;      // row type of each input
  std::vector<std::optional<TensorType>>
      targets;  // row type of each output's target; none: not given
  std::vector<std::optional<TensorType>> sample_weights;
  bool global_batchnorm = false;
};

/// Writes the graph for towers of `rows` rows. Throws InvalidArgument naming output and shapes when
/// targets do not fit, and when a loss has no target.
TowerGraph build_tower_graph(const TowerGraphSpec& spec, int64_t rows);

/// The data-dependent denominators of `layout`'s losses, in order: sums of valid values or weights.
TowerGraph build_denominator_graph(const StepLayout& layout, int64_t rows);

}  // namespace lockstep
