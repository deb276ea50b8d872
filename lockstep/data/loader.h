// Batches made ahead by one thread, in the order of the epoch.
#pragma once

#include <atomic>
#include <condition_variable>
#include <exception>
#include <mutex>
#include <thread>
#include <vector>

#include "lockstep/data/gather.h"

namespace lockstep {

struct LoaderOptions {
  int64_t batch_size = 32;
  uint64_t seed = 0;
  int64_t epoch = 0;  // the first one
  bool shuffle = true;
  int64_t first_batch = 0;  // resume: batches of the first epoch already done
  int64_t epochs = 1;
};

/// Batches in an epoch; the last one may be short.
inline int64_t batches_in(int64_t size, int64_t batch_size) {
  return size / batch_size + (size % batch_size != 0);
}

/// The batches of one epoch or several, made by a thread that runs at most two batches ahead,
/// across the end of an epoch too. Its memory is taken at construction and reused.
class Loader {
 public:
  /// Throws InvalidArgument when an option or a wanted row shape is out of range.
  Loader(DatasetPtr dataset, const std::vector<WantedColumn>& wanted, const LoaderOptions& options);
  /// Waits for the sample being read, not for the batch.
  ~Loader();
  Loader(const Loader&) = delete;
  Loader& operator=(const Loader&) = delete;

  /// The next batch, valid until the next call. Null once at the end of each epoch, and always
  /// after the last. Batches before a sample that cannot be read are delivered; from then on every
  /// call throws what RowGather::put threw.
  const Batch* next();
  /// Batches of an epoch.
  int64_t batch_count() const { return batch_count_; }

 private:
  void make_batches();
  /// False when the loader is being destroyed.
  bool make_batch(int64_t epoch, int64_t index);

  DatasetPtr dataset_;
  LoaderOptions options_;
  RowGather gather_;
  int64_t batch_count_ = 0;
  std::vector<Batch> buffers_;  // batch i of the run lies in buffer i mod their number

  int64_t next_index_;       // what `next` hands out next, within its epoch
  int64_t epochs_done_ = 0;  // by `next`
  int64_t taken_ = 0;        // batches `next` has handed out

  std::mutex mutex_;
  std::condition_variable changed_;
  int64_t filled_ = 0, released_ = 0;  // batches made; batches whose buffer is free again
  std::exception_ptr failure_;
  std::atomic<bool> is_stopping_{false};
  std::thread thread_;
};

}  // namespace lockstep
