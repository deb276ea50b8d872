#include "lockstep/data/loader.h"

#include <algorithm>
#include <utility>

#include "lockstep/data/order.h"

namespace lockstep {
namespace {

constexpr int64_t kBuffers = 3;  // one in use, two ahead

LoaderOptions checked(const LoaderOptions& options) {
  if (options.batch_size < 1)
    invalid_argument("batch_size", "must be >= 1: {}", options.batch_size);
  if (options.first_batch < 0)
    invalid_argument("first_batch", "must be >= 0: {}", options.first_batch);
  if (options.epoch < 0) invalid_argument("epoch", "must be >= 0: {}", options.epoch);
  if (options.epochs < 0) invalid_argument("epochs", "must be >= 0: {}", options.epochs);
  return options;
}

}  // namespace

Loader::Loader(DatasetPtr dataset, const std::vector<WantedColumn>& wanted,
               const LoaderOptions& options)
    : dataset_(std::move(dataset)),
      options_(checked(options)),
      gather_(dataset_, wanted),
      next_index_(options_.first_batch) {
  batch_count_ = batches_in(dataset_->size(), options_.batch_size);
  const int64_t capacity = std::min(options_.batch_size, dataset_->size());
  for (int64_t i = 0; i < kBuffers; ++i) buffers_.push_back(gather_.make_batch(capacity));
  thread_ = std::thread([this] { make_batches(); });
}

Loader::~Loader() {
  {
    std::lock_guard lock(mutex_);
    is_stopping_ = true;
  }
  changed_.notify_all();
  thread_.join();
}

const Batch* Loader::next() {
  std::unique_lock lock(mutex_);
  released_ = taken_;
  changed_.notify_all();
  if (epochs_done_ == options_.epochs) return nullptr;
  if (next_index_ >= batch_count_) {
    next_index_ = 0;
    ++epochs_done_;
    return nullptr;
  }
  changed_.wait(lock, [&] { return filled_ > taken_ || failure_; });
  if (filled_ == taken_) std::rethrow_exception(failure_);
  ++next_index_;
  return &buffers_[static_cast<size_t>(taken_++ % kBuffers)];
}

void Loader::make_batches() {
  try {
    for (int64_t epoch = 0; epoch < options_.epochs; ++epoch)
      for (int64_t index = epoch == 0 ? options_.first_batch : 0; index < batch_count_; ++index)
        if (!make_batch(options_.epoch + epoch, index)) return;
  } catch (...) {
    std::lock_guard lock(mutex_);
    failure_ = std::current_exception();
    changed_.notify_all();
  }
}

bool Loader::make_batch(int64_t epoch, int64_t index) {
  {
    std::unique_lock lock(mutex_);
    changed_.wait(lock, [&] { return filled_ - released_ < kBuffers || is_stopping_; });
  }
  Batch& batch = buffers_[static_cast<size_t>(filled_ % kBuffers)];
  const EpochOrder order(dataset_->size(), options_.seed, epoch, options_.shuffle);
  const int64_t first = index * options_.batch_size;
  batch.rows = std::min(options_.batch_size, dataset_->size() - first);
  batch.index = index;
  batch.epoch = epoch;
  for (int64_t row = 0; row < batch.rows; ++row) {
    if (is_stopping_) return false;
    gather_.put(order[first + row], row, batch);
  }
  std::lock_guard lock(mutex_);
  ++filled_;
  changed_.notify_all();
  return true;
}

}  // namespace lockstep
