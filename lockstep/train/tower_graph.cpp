#include "lockstep/train/tower_graph.h"

#include <algorithm>
#include <map>
#include <numeric>
#include <unordered_map>

#include "lockstep/autodiff/vjp.h"

namespace lockstep {
namespace {

Value sum_all(Builder& builder, Value x) {
  Dims axes(static_cast<size_t>(x.shape().rank()));
  std::iota(axes.begin(), axes.end(), 0);
  return axes.empty() ? x : builder.reduce_sum(x, axes);
}

/// Weights shaped to broadcast against values: trailing axes of 1 appended or dropped.
Value align_weights(Builder& builder, Value weights, const Shape& values,
                    const std::string& output) {
  Dims dims = weights.shape().dims();
  while (static_cast<int>(dims.size()) > values.rank() && dims.back() == 1) dims.pop_back();
  while (static_cast<int>(dims.size()) < values.rank()) dims.push_back(1);
  for (size_t axis = 0; axis < dims.size(); ++axis)
    if (static_cast<int>(dims.size()) != values.rank() ||
        (dims[axis] != 1 && dims[axis] != values[static_cast<int>(axis)]))
      invalid_argument("sample_weight/" + output,
                       "sample weights must broadcast to the loss values {}: {}", values.str(),
                       weights.shape().str());
  return builder.reshape(weights, Shape(dims));
}

class GraphWriter : public CallContext {
 public:
  GraphWriter(const TowerGraphSpec& spec, int64_t rows, Builder& builder, TowerGraph& out)
      : CallContext(builder, spec.kind == StepKind::kTrain), spec_(spec), rows_(rows), out_(out) {
    layout().trainable = spec.trainable;
    for (const VariablePtr& variable : spec.trainable) {
      layout().gradient_offsets.push_back(layout().gradients_size);
      layout().gradients_size += round_up_16(variable->size());
    }
    if (spec.kind == StepKind::kTrain) layout().sums_size = layout().gradients_size;
  }

  void write() {
    std::vector<Value> inputs;
    const std::vector<std::string> names = spec_.network->input_names();
    for (size_t i = 0; i < names.size(); ++i)
      inputs.push_back(
          column(BatchColumn::Role::kInput, static_cast<int>(i), names[i], spec_.inputs[i]));
    const std::vector<Value> outputs = spec_.network->call(*this, inputs);
    builder.set_context("");
    if (spec_.kind == StepKind::kPredict) {
      write_rows(outputs);
      return;
    }
    for (size_t i = 0; i < outputs.size(); ++i) write_output(static_cast<int>(i), outputs[i]);
    if (spec_.kind == StepKind::kTrain) write_gradients();
  }

  Value weight(const VariablePtr& variable) override {
    const auto it = weights_.find(variable.get());
    if (it != weights_.end()) return it->second;
    const Value value = builder.parameter({variable->dtype, variable->shape}, variable->path,
                                          ParameterRole::kWeight);
    out_.inputs.push_back({TowerInput::Source::kVariable, spec_.variables->offset(*variable)});
    weights_[variable.get()] = value;
    return value;
  }

  Random random(std::optional<int64_t> seed) override {
    auto& seeds = layout().key_seeds;
    auto it = std::find(seeds.begin(), seeds.end(), seed);
    if (it == seeds.end()) {
      if (seeds.size() >= ScalarBlock::kMaxKeys)
        unsupported("model", "at most {} different layer seeds", ScalarBlock::kMaxKeys);
      it = seeds.insert(it, seed);
    }
    const int64_t key_offset = ScalarBlock::kKeys + 8 * (it - seeds.begin());
    if (!first_row_.valid()) {
      first_row_ = builder.parameter({DType::kU32, {}}, "first_row", ParameterRole::kScalar);
      out_.inputs.push_back({TowerInput::Source::kFirstRow, 0});
    }
    return {scalar({DType::kU32, {2}}, "key", key_offset), first_row_,
            scalar({DType::kU32, {}}, "train_step", ScalarBlock::kTrainStep)};
  }

  void add_activity_penalty(Value sum) override { penalties_.push_back(sum); }

  void update_moving_average(const VariablePtr& moving, Value weighted, double momentum,
                             int64_t positions_per_row) override {
    if (!training) return;
    moving_.push_back({{moving, momentum, positions_per_row, 0}, weighted});
  }

  bool trains(const Layer& layer) const override { return spec_.flags->trains(layer); }
  bool force_synchronized_batchnorm() const override { return spec_.global_batchnorm; }
  Value global_rows() override {
    return scalar({DType::kF32, {}}, "global_rows", ScalarBlock::kGlobalRows);
  }

 private:
  StepLayout& layout() { return out_.layout; }

  Value column(BatchColumn::Role role, int index, const std::string& name, TensorType row_type) {
    const auto position = static_cast<int64_t>(layout().columns.size());
    layout().columns.push_back({role, index, name, row_type});
    const Value value = builder.parameter({row_type.dtype, row_type.shape.with_rows(rows_)}, name,
                                          ParameterRole::kData);
    out_.inputs.push_back({TowerInput::Source::kColumn, position});
    return value;
  }

  Value scalar(TensorType type, const std::string& name, int64_t offset) {
    const auto it = scalars_.find(offset);
    if (it != scalars_.end()) return it->second;
    const Value value = builder.parameter(std::move(type), name, ParameterRole::kScalar);
    out_.inputs.push_back({TowerInput::Source::kScalar, offset});
    return scalars_[offset] = value;
  }

  int64_t add_sum(Value value) {
    const int64_t offset = layout().sums_size;
    layout().sums_size += value.type().size();
    builder.graph().add_result(value);
    out_.outputs.push_back({TowerOutput::Target::kSum, offset});
    return offset;
  }

  void write_rows(const std::vector<Value>& outputs) {
    for (const Value& output : outputs) {
      builder.graph().add_result(output);
      out_.outputs.push_back(
          {TowerOutput::Target::kRows, static_cast<int64_t>(layout().output_row_types.size())});
      layout().output_row_types.push_back({output.dtype(), output.shape().without_rows()});
    }
  }

  void write_output(int index, Value y_pred) {
    const OutputCompileConfig& compile = spec_.compile->outputs[static_cast<size_t>(index)];
    const std::string name = spec_.network->output_names()[static_cast<size_t>(index)];
    if (!compile.loss && compile.metrics.empty() && compile.weighted_metrics.empty()) return;
    const auto& target = spec_.targets[static_cast<size_t>(index)];
    if (!target)
      invalid_argument("y/" + name,
                       "output \"{}\" has a loss or metrics and needs targets: none came", name);
    const DType dtype = compile.loss ? compile.loss->target_dtype() : DType::kF32;
    const Value y_true = column(BatchColumn::Role::kTarget, index, name, {dtype, target->shape});
    Value weights;
    if (const auto& type = spec_.sample_weights[static_cast<size_t>(index)])
      weights = column(BatchColumn::Role::kSampleWeight, index, name, {DType::kF32, type->shape});
    if (compile.loss) write_loss(index, name, compile, y_true, y_pred, weights);
    for (const Json& metric : compile.metrics)
      write_metric(index, metric, y_true, y_pred, {}, false);
    for (const Json& metric : compile.weighted_metrics)
      write_metric(index, metric, y_true, y_pred, weights, true);
  }

  void write_loss(int index, const std::string& name, const OutputCompileConfig& compile,
                  Value y_true, Value y_pred, Value weights) {
    builder.set_context("loss of " + name);
    Value values =
        with_context("y/" + name, [&] { return compile.loss->call(builder, y_true, y_pred); });
    const Shape shape = values.shape();
    LossEntry entry{index,
                    compile.loss,
                    compile.loss_weight,
                    DenominatorKind::kValues,
                    shape.size() / rows_,
                    shape.without_rows(),
                    y_pred.shape().without_rows()};
    const Value mask = compile.loss->mask(builder, y_true, y_pred.shape());
    if (mask.valid()) values = builder.multiply(values, mask);
    if (weights.valid())
      values = builder.multiply(values, align_weights(builder, weights, shape, name));
    if (compile.loss->reduction == Reduction::kSum)
      entry.denominator = DenominatorKind::kOne;
    else if (mask.valid() ||
             (compile.loss->reduction == Reduction::kMeanWithSampleWeight && weights.valid()))
      entry.denominator = DenominatorKind::kDataDependent;
    const Value numerator = sum_all(builder, values);
    entry.sum_offset = add_sum(numerator);
    entry.scalar_offset =
        ScalarBlock::kLossSeeds + 4 * static_cast<int64_t>(layout().losses.size());
    layout().losses.push_back(entry);
    numerators_.push_back(numerator);
    builder.set_context("");
  }

  void write_metric(int output, const Json& config, Value y_true, Value y_pred, Value weights,
                    bool is_weighted) {
    MetricEntry entry{metric_from_config(config, y_true.shape(), y_pred.shape()), output,
                      is_weighted, ""};
    builder.set_context("metric " + entry.metric->name);
    const Value target = builder.convert(y_true, entry.metric->target_dtype());
    entry.first_sum = layout().sums_size;
    for (const Value& sum : entry.metric->update(builder, target, y_pred, weights)) {
      add_sum(sum);
      ++entry.sum_count;
    }
    layout().metrics.push_back(std::move(entry));
    builder.set_context("");
  }

  void write_gradients() {
    std::vector<std::pair<Value, Value>> seeds;
    for (size_t i = 0; i < numerators_.size(); ++i)
      seeds.emplace_back(numerators_[i],
                         scalar({DType::kF32, {}}, "loss_seed", layout().losses[i].scalar_offset));
    for (const Value& penalty : penalties_)
      seeds.emplace_back(penalty,
                         scalar({DType::kF32, {}}, "inverse_rows", ScalarBlock::kInverseRows));
    std::vector<Value> wrt;
    for (const VariablePtr& variable : layout().trainable) wrt.push_back(weight(variable));
    const std::vector<Value> grads = gradients(builder, seeds, wrt);
    for (size_t i = 0; i < grads.size(); ++i) {
      layout().has_gradient.push_back(grads[i].valid());
      if (!grads[i].valid()) continue;
      builder.graph().add_result(grads[i]);
      out_.outputs.push_back({TowerOutput::Target::kSum, layout().gradient_offsets[i]});
    }
  }

 public:
  void write_statistics() {
    for (const Value& penalty : penalties_) layout().penalty_offsets.push_back(add_sum(penalty));
    for (auto& [average, weighted] : moving_) {
      average.sum_offset = layout().sums_size = round_up_16(layout().sums_size);
      add_sum(weighted);
      layout().moving_averages.push_back(average);
    }
    layout().sums_size = round_up_16(layout().sums_size);
  }

 private:
  const TowerGraphSpec& spec_;
  const int64_t rows_;
  TowerGraph& out_;
  std::unordered_map<const Variable*, Value> weights_;
  std::unordered_map<int64_t, Value> scalars_;
  Value first_row_;
  std::vector<Value> numerators_, penalties_;
  std::vector<std::pair<MovingAverage, Value>> moving_;
};

/// Names as Keras reports them: the output's name before it where there are several outputs, _1, _2
/// for repeats, weighted_ where an unweighted metric has the name already.
void name_metrics(const TowerGraphSpec& spec, std::vector<MetricEntry>& metrics) {
  const std::vector<std::string> outputs = spec.network->output_names();
  std::map<std::string, int> counts;
  for (const bool weighted : {false, true}) {
    for (MetricEntry& entry : metrics) {
      if (entry.is_weighted != weighted) continue;
      const std::string prefix =
          outputs.size() > 1 ? outputs[static_cast<size_t>(entry.output)] + "_" : "";
      entry.name = prefix + entry.metric->name;
      if (weighted && counts.contains(entry.name))
        entry.name = prefix + "weighted_" + entry.metric->name;
      const int seen = counts[entry.name]++;
      if (seen > 0) entry.name += fmt::format("_{}", seen);
    }
  }
}

}  // namespace

TowerGraph build_tower_graph(const TowerGraphSpec& spec, int64_t rows) {
  TowerGraph result;
  result.graph = std::make_unique<Graph>();
  Builder builder(*result.graph);
  GraphWriter writer(spec, rows, builder, result);
  writer.write();
  if (spec.kind != StepKind::kPredict) {
    writer.write_statistics();
    name_metrics(spec, result.layout.metrics);
  }
  return result;
}

TowerGraph build_denominator_graph(const StepLayout& layout, int64_t rows) {
  TowerGraph result;
  result.graph = std::make_unique<Graph>();
  Builder builder(*result.graph);
  std::map<std::pair<int, BatchColumn::Role>, Value> columns;
  for (size_t i = 0; i < layout.columns.size(); ++i) {
    const BatchColumn& column = layout.columns[i];
    if (column.role == BatchColumn::Role::kInput) continue;
    columns[{column.index, column.role}] = builder.parameter(
        {column.row_type.dtype, column.row_type.shape.with_rows(rows)}, column.name);
    result.inputs.push_back({TowerInput::Source::kColumn, static_cast<int64_t>(i)});
  }
  for (const LossEntry& entry : layout.losses) {
    if (entry.denominator != DenominatorKind::kDataDependent) continue;
    Value valid = entry.loss->mask(builder, columns.at({entry.output, BatchColumn::Role::kTarget}),
                                   entry.prediction_shape.with_rows(rows));
    const auto weights = columns.find({entry.output, BatchColumn::Role::kSampleWeight});
    if (entry.loss->reduction == Reduction::kMeanWithSampleWeight && weights != columns.end()) {
      const Shape shape = valid.valid() ? valid.shape() : entry.values_shape.with_rows(rows);
      const Value aligned = align_weights(builder, weights->second, shape, "");
      valid =
          builder.broadcast_to(valid.valid() ? builder.multiply(valid, aligned) : aligned, shape);
    }
    builder.graph().add_result(sum_all(builder, valid));
    result.outputs.push_back({TowerOutput::Target::kSum, result.layout.sums_size++});
  }
  result.layout.columns = layout.columns;
  result.layout.sums_size = round_up_16(result.layout.sums_size);
  return result;
}

}  // namespace lockstep
