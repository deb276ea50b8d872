// Batches made ahead by one thread: rows gathered in epoch order and converted to what programs want.
#pragma once

#include <condition_variable>
#include <deque>
#include <exception>
#include <mutex>
#include <thread>
#include <vector>

#include "lockstep/data/dataset.h"

namespace lockstep {

/// A column as a program wants it: which of the dataset's, in which dtype and row shape (same size).
struct WantedColumn {
  size_t column;
  TensorType row;
};

struct Batch {
  int64_t rows = 0;
  int64_t index = 0;  // within the epoch
  std::vector<AlignedBytes> storage;
  std::vector<const void*> columns;  // [rows, ...] of each wanted column
};

/// Converts one stored row into `to`: same dtype copied, else as C++ converts; integers out of the
/// stored type's range cannot occur. `divisor`: to = from / divisor.
void convert_row(const Column& column, const void* from, DType wanted, void* to);

struct LoaderOptions {
  int64_t batch_size = 32;
  uint64_t seed = 0;
  int64_t epoch = 0;
  bool shuffle = true;
  int64_t first_batch = 0;  // resume: batches of the epoch already done
  int64_t max_batches = -1;  // -1: all
};

/// One epoch of batches. An exception in the dataset comes out of `next`, once.
class Loader {
 public:
  Loader(DatasetPtr dataset, std::vector<WantedColumn> wanted, LoaderOptions options);
  ~Loader();
  Loader(const Loader&) = delete;
  Loader& operator=(const Loader&) = delete;

  /// The next batch, valid until the call after; null at the epoch's end.
  const Batch* next();
  int64_t batch_count() const { return batch_count_; }

 private:
  void thread_main();
  void fill(Batch& batch, int64_t index);

  DatasetPtr dataset_;
  std::vector<WantedColumn> wanted_;
  LoaderOptions options_;
  int64_t batch_count_ = 0;
  std::vector<Batch> buffers_;
  std::vector<std::byte> row_;
  std::mutex mutex_;
  std::condition_variable changed_;
  std::deque<Batch*> ready_, free_;
  Batch* in_use_ = nullptr;
  bool finished_ = false, stopping_ = false;
  std::exception_ptr failure_;
  std::thread thread_;
};

/// Batches in an epoch.
inline int64_t batches_in(int64_t size, int64_t batch_size) { return (size + batch_size - 1) / batch_size; }

}  // namespace lockstep
