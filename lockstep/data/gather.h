// Samples gathered into a batch: rows beside each other, in the dtypes that programs want.
#pragma once

#include <vector>

#include "lockstep/data/convert.h"
#include "lockstep/data/dataset.h"

namespace lockstep {

/// A column as a program wants it: which of the dataset's, in which dtype and row shape. The shape
/// may be another one of equal size: targets [n] for an output [n, 1].
struct WantedColumn {
  size_t column;
  TensorType row;
};

struct Batch {
  int64_t rows = 0;
  int64_t index = 0;  // within the epoch
  int64_t epoch = 0;
  std::vector<AlignedBytes> storage;
  std::vector<const void*> columns;  // [rows, ...] of each wanted column, 64-byte aligned
};

/// Reads, converts and places rows. Each thread that gathers has its own.
class RowGather {
 public:
  /// Throws InvalidArgument naming both sides when a wanted row shape has another size than the
  /// dataset's.
  RowGather(DatasetPtr dataset, const std::vector<WantedColumn>& wanted);

  /// A batch with room for `capacity` rows.
  Batch make_batch(int64_t capacity) const;
  /// Sample `sample` becomes row `row`. What the dataset throws is thrown with the sample's index:
  /// an Error of the same code, or for other exceptions an InvalidArgument in which they are
  /// nested.
  void put(int64_t sample, int64_t row, Batch& batch);

 private:
  struct Source {
    size_t index;
    Column column;
    DType wanted;
    size_t row_bytes;  // as delivered
    bool is_plain;     // delivered as stored
  };
  void put_columns(int64_t sample, int64_t row, Batch& batch);

  DatasetPtr dataset_;
  std::vector<Source> sources_;
  AlignedBytes stored_row_;
};

/// All samples in order as one batch, gathered by the calling thread: train_on_batch.
Batch gather_all(const DatasetPtr& dataset, const std::vector<WantedColumn>& wanted);

}  // namespace lockstep
