#include <cstring>
#include <fstream>

#include "lockstep/formats/files.h"
#include "lockstep/tensor/philox.h"
#include "lockstep/train/trainer_program.h"

namespace lockstep {
namespace {

/// "AMD EPYC 7763 64-Core Processor, family 25 model 1"
std::string processor() {
  std::ifstream file("/proc/cpuinfo");
  std::string line, name, family, model;
  while (std::getline(file, line) && !line.empty()) {
    const size_t colon = line.find(": ");
    if (colon == std::string::npos) continue;
    if (line.starts_with("model name"))
      name = line.substr(colon + 2);
    else if (line.starts_with("cpu family"))
      family = line.substr(colon + 2);
    else if (line.starts_with("model\t"))
      model = line.substr(colon + 2);
  }
  return name.empty() ? "unknown" : fmt::format("{}, family {} model {}", name, family, model);
}

/// Numbers that are the same everywhere: floats in [-1, 1) times `scale`, integers 0.
void fill(const TensorType& type, double scale, uint64_t stream_seed, std::byte* to) {
  std::memset(to, 0, type.size_bytes());
  if (type.dtype != DType::kF32) return;
  PhiloxStream stream(philox_key(stream_seed, RandomPurpose::kInit, "signature"));
  auto* values = reinterpret_cast<float*>(to);
  for (int64_t i = 0; i < type.size(); ++i)
    values[i] = static_cast<float>((stream.uniform() * 2 - 1) * scale);
}

std::string describe(const SegmentPlan& segment) {
  return segment.device_program ? segment.device_program->describe()
                                : segment.executable->describe();
}

}  // namespace

Json Trainer::numerics_signature() {
  Program& train = program(StepKind::kTrain);
  ensure_shapes(train, options_.batch_size);
  const int64_t rows = cut_towers(options_.batch_size, tower_size_)[0].rows;
  ensure_shapes(train, rows);

  std::string kernels;
  for (const auto& tower : train.runner->plan().programs)
    for (const SegmentPlan& segment : tower->segments) kernels += describe(segment);

  Batch batch;
  batch.rows = rows;
  uint64_t seed = 0;
  for (const BatchColumn& column : train.layout.columns) {
    const TensorType type{column.row_type.dtype, column.row_type.shape.with_rows(rows)};
    fill(type, 1.0, seed++, batch.storage.emplace_back(type.size_bytes()).data());
    batch.columns.push_back(batch.storage.back().data());
  }
  // Small weights keep every activation where it is not flat; gaps between variables stay zero.
  AlignedBytes weights(static_cast<size_t>(variables_.size()) * sizeof(float));
  for (const VariablePtr& variable : variables_.variables())
    fill({DType::kF32, variable->shape}, 0.1, seed++,
         weights.data() + static_cast<size_t>(variables_.offset(*variable)) * sizeof(float));
  const int64_t step = std::exchange(iterations_, 0);
  std::fill(train.denominator_values.begin(), train.denominator_values.end(), 1.0);
  fill_scalars(train, batch);
  iterations_ = step;
  StepData data;
  data.rows = rows;
  data.columns = batch.columns;
  data.scalars = scalars_.data();
  data.variables = reinterpret_cast<const float*>(weights.data());
  fetch_variables();
  data.resident = resident_.get();
  train.seen_version = resident_version_ = 0;  // what is packed or copied belongs to other weights
  train.runner->run(data);
  const std::vector<float> values = train.runner->copy_sums();
  const std::string_view sums(reinterpret_cast<const char*>(values.data()),
                              values.size() * sizeof(float));

  return {{"backend", std::string(backend_->kind())},
          {"version", backend_->version()},
          {"processor", processor()},
          {"precision", "float32"},
          {"tower_size", tower_size_},
          {"threads_per_device", 1},
          {"kernels", sha256_hex(kernels)},
          {"tower_step", sha256_hex(sums)}};
}

}  // namespace lockstep
