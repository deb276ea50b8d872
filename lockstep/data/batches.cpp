#include "lockstep/data/batches.h"

#include <algorithm>
#include <cstring>

#include "lockstep/data/gather.h"
#include "lockstep/data/order.h"
#include "lockstep/tensor/philox.h"

namespace lockstep {
namespace {

size_t only_input(const Dataset& data) {
  std::vector<size_t> inputs;
  for (size_t c = 0; c < data.columns().size(); ++c)
    if (data.columns()[c].role == Column::Role::kInput) inputs.push_back(c);
  if (inputs.size() != 1) invalid_argument("data", "must have one input: it has {}", inputs.size());
  return inputs[0];
}

}  // namespace

HostTensor shuffled_batch(const DatasetPtr& data, const ShuffledBatchOptions& options) {
  const size_t column = only_input(*data);
  const int64_t rows = options.batch_size;
  if (rows < 1) invalid_argument("batch_size", "must be >= 1: {}", rows);
  if (options.step < 0) invalid_argument("step", "must be >= 0: {}", options.step);
  const int64_t batches = data->size() / rows;
  if (batches == 0)
    invalid_argument("batch_size", "must be at most the {} samples there are: {}", data->size(),
                     rows);
  const EpochOrder order(data->size(), options.seed, options.step / batches, /*shuffle=*/true);
  const WantedColumn wanted{column, {DType::kF32, data->columns()[column].row.shape}};
  RowGather gather(data, {wanted});
  Batch batch = gather.make_batch(rows);
  const int64_t begin = options.step % batches * rows;
  for (int64_t row = 0; row < rows; ++row) gather.put(order[begin + row], row, batch);
  HostTensor result(DType::kF32, wanted.row.shape.with_rows(rows));
  std::memcpy(result.bytes(), batch.storage[0].data(), result.size_bytes());
  return result;
}

HostTensor random_normal(const Shape& shape, uint64_t seed, std::string_view stream, int64_t step) {
  PhiloxStream random(philox_key(seed, RandomPurpose::kNoise, fmt::format("{}/{}", stream, step)));
  HostTensor values(DType::kF32, shape);
  for (float& value : values.data<float>()) value = static_cast<float>(random.normal());
  return values;
}

HostTensor full(const Shape& shape, float value) {
  HostTensor values(DType::kF32, shape);
  std::fill_n(values.data<float>().data(), values.size(), value);
  return values;
}

}  // namespace lockstep
