#include "lockstep/data/gather.h"

#include <algorithm>
#include <exception>
#include <new>
#include <utility>

#include "lockstep/data/convert.h"

namespace lockstep {

RowGather::RowGather(DatasetPtr dataset, const std::vector<WantedColumn>& wanted)
    : dataset_(std::move(dataset)) {
  size_t largest = 0;
  for (const WantedColumn& want : wanted) {
    LOCKSTEP_CHECK(want.column < dataset_->columns().size());
    const Column& column = dataset_->columns()[want.column];
    if (want.row.size() != column.row.size())
      invalid_argument(column_key(column), "samples must have shape {}: the data has {}",
                       want.row.shape.str(), column.row.shape.str());
    const bool is_plain =
        column.row.dtype == want.row.dtype && !(column.divisor && is_float(want.row.dtype));
    largest = std::max(largest, column.row.size_bytes());
    sources_.push_back({want.column, column, want.row.dtype, want.row.size_bytes(), is_plain});
  }
  stored_row_ = AlignedBytes(largest);
}

Batch RowGather::make_batch(int64_t capacity) const {
  Batch batch;
  for (const Source& source : sources_) {
    batch.storage.emplace_back(static_cast<size_t>(capacity) * source.row_bytes);
    batch.columns.push_back(batch.storage.back().data());
  }
  return batch;
}

void RowGather::put(int64_t sample, int64_t row, Batch& batch) {
  try {
    put_columns(sample, row, batch);
  } catch (const Error& error) {
    throw Error(error.code(), "", fmt::format("{} (sample {})", error.what(), sample));
  } catch (const std::bad_alloc&) {
    throw;
  } catch (const std::exception& error) {
    std::throw_with_nested(
        Error(ErrorCode::kInvalidArgument, "dataset",
              fmt::format("a sample must be readable: {} (sample {})", error.what(), sample)));
  }
}

void RowGather::put_columns(int64_t sample, int64_t row, Batch& batch) {
  for (size_t c = 0; c < sources_.size(); ++c) {
    const Source& source = sources_[c];
    std::byte* to = batch.storage[c].data() + static_cast<size_t>(row) * source.row_bytes;
    dataset_->read(sample, source.index, source.is_plain ? to : stored_row_.data());
    if (!source.is_plain) convert_row(source.column, stored_row_.data(), source.wanted, to);
  }
}

Batch gather_all(const DatasetPtr& dataset, const std::vector<WantedColumn>& wanted) {
  RowGather gather(dataset, wanted);
  Batch batch = gather.make_batch(dataset->size());
  batch.rows = dataset->size();
  for (int64_t row = 0; row < batch.rows; ++row) gather.put(row, row, batch);
  return batch;
}

}  // namespace lockstep
