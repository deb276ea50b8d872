#include "lockstep/data/loader.h"

#include <algorithm>
#include <cstring>
#include <utility>

#include "lockstep/data/order.h"

namespace lockstep {
namespace {

constexpr size_t kBatchesAhead = 2;

template <class From, class To>
void convert(const From* from, int64_t n, std::optional<float> divisor, To* to) {
  if constexpr (std::is_same_v<To, float> || std::is_same_v<To, double>) {
    if (divisor) {
      const To d = static_cast<To>(*divisor);
      for (int64_t i = 0; i < n; ++i) to[i] = static_cast<To>(from[i]) / d;
      return;
    }
  }
  for (int64_t i = 0; i < n; ++i) to[i] = static_cast<To>(from[i]);
}

}  // namespace

void convert_row(const Column& column, const void* from, DType wanted, void* to) {
  const int64_t n = column.row.size();
  if (column.row.dtype == wanted && !column.divisor) {
    std::memcpy(to, from, column.row.size_bytes());
    return;
  }
  dispatch(column.row.dtype, [&]<class From>() {
    dispatch(wanted, [&]<class To>() { convert(static_cast<const From*>(from), n, column.divisor, static_cast<To*>(to)); });
  });
}

Loader::Loader(DatasetPtr dataset, std::vector<WantedColumn> wanted, LoaderOptions options)
    : dataset_(std::move(dataset)), wanted_(std::move(wanted)), options_(options) {
  if (options_.batch_size < 1) invalid_argument("batch_size", "must be >= 1: {}", options_.batch_size);
  batch_count_ = batches_in(dataset_->size(), options_.batch_size);
  if (options_.max_batches >= 0) batch_count_ = std::min(batch_count_, options_.first_batch + options_.max_batches);
  const int64_t rows = std::min(options_.batch_size, dataset_->size());
  size_t largest = 0;
  buffers_.resize(kBatchesAhead + 1);
  for (Batch& batch : buffers_) {
    for (const WantedColumn& column : wanted_) {
      batch.storage.emplace_back(static_cast<size_t>(rows) * column.row.size_bytes());
      batch.columns.push_back(batch.storage.back().data());
      largest = std::max(largest, dataset_->columns()[column.column].row.size_bytes());
    }
    free_.push_back(&batch);
  }
  row_.resize(largest);
  thread_ = std::thread([this] { thread_main(); });
}

Loader::~Loader() {
  {
    std::lock_guard lock(mutex_);
    stopping_ = true;
  }
  changed_.notify_all();
  thread_.join();
}

const Batch* Loader::next() {
  std::unique_lock lock(mutex_);
  if (in_use_ != nullptr) free_.push_back(std::exchange(in_use_, nullptr));
  changed_.notify_all();
  changed_.wait(lock, [&] { return !ready_.empty() || finished_; });
  if (ready_.empty()) {
    if (failure_) std::rethrow_exception(std::exchange(failure_, nullptr));
    return nullptr;
  }
  in_use_ = ready_.front();
  ready_.pop_front();
  return in_use_;
}

void Loader::thread_main() {
  std::exception_ptr failure;
  for (int64_t index = options_.first_batch; index < batch_count_; ++index) {
    Batch* batch;
    {
      std::unique_lock lock(mutex_);
      changed_.wait(lock, [&] { return !free_.empty() || stopping_; });
      if (stopping_) break;
      batch = free_.front();
      free_.pop_front();
    }
    try {
      fill(*batch, index);
    } catch (...) {
      failure = std::current_exception();
      break;
    }
    std::lock_guard lock(mutex_);
    ready_.push_back(batch);
    changed_.notify_all();
  }
  std::lock_guard lock(mutex_);
  finished_ = true;
  failure_ = failure;
  changed_.notify_all();
}

void Loader::fill(Batch& batch, int64_t index) {
  const EpochOrder order(dataset_->size(), options_.seed, options_.epoch, options_.shuffle);
  const int64_t first = index * options_.batch_size;
  batch.rows = std::min(options_.batch_size, dataset_->size() - first);
  batch.index = index;
  for (int64_t row = 0; row < batch.rows; ++row) {
    const int64_t sample = order[first + row];
    for (size_t c = 0; c < wanted_.size(); ++c) {
      const Column& column = dataset_->columns()[wanted_[c].column];
      std::byte* to = batch.storage[c].data() + static_cast<size_t>(row) * wanted_[c].row.size_bytes();
      const bool is_plain = column.row.dtype == wanted_[c].row.dtype && !column.divisor;
      dataset_->read(sample, wanted_[c].column, is_plain ? to : row_.data());
      if (!is_plain) convert_row(column, row_.data(), wanted_[c].row.dtype, to);
    }
  }
}

}  // namespace lockstep
