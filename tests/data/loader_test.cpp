#include "lockstep/data/loader.h"

#include <gtest/gtest.h>

#include <chrono>
#include <limits>
#include <numeric>
#include <set>

#include "lockstep/data/order.h"
#include "tests/formats/format_test_util.h"

namespace lockstep {
namespace {

/// Sample i is the number i.
DatasetPtr counting(int64_t size) {
  HostTensor tensor(DType::kS64, {size});
  std::iota(tensor.data<int64_t>().begin(), tensor.data<int64_t>().end(), 0);
  return dataset(std::move(tensor));
}

const std::vector<WantedColumn> kFirst{{0, {DType::kF32, {1}}}};

std::vector<int64_t> samples_of(const Batch& batch) {
  const auto* values = static_cast<const float*>(batch.columns[0]);
  return {values, values + batch.rows};
}

/// Batches until the epoch's end.
std::vector<std::vector<int64_t>> rest_of_epoch(Loader& loader) {
  std::vector<std::vector<int64_t>> batches;
  while (const Batch* batch = loader.next()) batches.push_back(samples_of(*batch));
  return batches;
}

TEST(BatchesIn, CountsTheShortOne) {
  EXPECT_EQ(batches_in(0, 4), 0);
  EXPECT_EQ(batches_in(8, 4), 2);
  EXPECT_EQ(batches_in(9, 4), 3);
  EXPECT_EQ(batches_in(9, std::numeric_limits<int64_t>::max()), 1);
}

TEST(Loader, DeliversEverySampleInOrder) {
  Loader loader(counting(10), kFirst, {.batch_size = 4, .shuffle = false});
  EXPECT_EQ(loader.batch_count(), 3);
  EXPECT_EQ(rest_of_epoch(loader),
            (std::vector<std::vector<int64_t>>{{0, 1, 2, 3}, {4, 5, 6, 7}, {8, 9}}));
  EXPECT_EQ(loader.next(), nullptr);
}

TEST(Loader, FollowsTheEpochsOrder) {
  Loader loader(counting(50), kFirst, {.batch_size = 8, .seed = 3, .epoch = 2, .epochs = 2});
  for (int64_t epoch : {2, 3}) {
    const EpochOrder order(50, 3, epoch, true);
    int64_t position = 0, index = 0;
    while (const Batch* batch = loader.next()) {
      EXPECT_EQ(batch->epoch, epoch);
      EXPECT_EQ(batch->index, index++);
      for (int64_t sample : samples_of(*batch)) EXPECT_EQ(sample, order[position++]);
    }
    EXPECT_EQ(position, 50);
  }
  EXPECT_EQ(loader.next(), nullptr);
}

TEST(Loader, GoesOnWhereARunStopped) {
  Loader whole(counting(50), kFirst, {.batch_size = 8, .seed = 3, .epochs = 2});
  auto rest = rest_of_epoch(whole);
  rest.erase(rest.begin(), rest.begin() + 3);
  Loader resumed(counting(50), kFirst, {.batch_size = 8, .seed = 3, .first_batch = 3, .epochs = 2});
  EXPECT_EQ(rest_of_epoch(resumed), rest);
  EXPECT_EQ(rest_of_epoch(resumed), rest_of_epoch(whole));
}

TEST(Loader, AnEpochMayBeOverAtItsBeginning) {
  for (int64_t first : {3, 4}) {
    Loader loader(counting(12), kFirst, {.batch_size = 4, .first_batch = first, .epochs = 2});
    EXPECT_EQ(loader.next(), nullptr);
    EXPECT_EQ(rest_of_epoch(loader).size(), 3u);
  }
  Loader empty(counting(0), kFirst, {.epochs = 2});
  for (int i = 0; i < 3; ++i) EXPECT_EQ(empty.next(), nullptr);
}

TEST(Loader, ReusesThreeBuffers) {
  Loader loader(counting(1000), kFirst, {.batch_size = 10, .epochs = 2});
  std::set<const void*> buffers;
  for (int i = 0; i < 202; ++i)
    if (const Batch* batch = loader.next()) buffers.insert(batch->columns[0]);
  EXPECT_EQ(buffers.size(), 3u);
}

TEST(Loader, ABatchKeepsItsValuesUntilTheNextCall) {
  Loader loader(counting(100), kFirst, {.batch_size = 10, .shuffle = false});
  for (int64_t first = 0; first < 50; first += 10) {
    const Batch* batch = loader.next();
    std::this_thread::sleep_for(std::chrono::milliseconds(1));
    EXPECT_EQ(samples_of(*batch)[9], first + 9);
  }
}

/// Each sample takes a millisecond; one of them cannot be read.
class SlowDataset : public Dataset {
 public:
  SlowDataset(int64_t size, int64_t broken) : size_(size), broken_(broken) {}
  int64_t size() const override { return size_; }
  const std::vector<Column>& columns() const override { return columns_; }
  void read(int64_t index, size_t, void* to) const override {
    if (index == broken_) fail(ErrorCode::kDataLoss, "disk", "must be whole");
    std::this_thread::sleep_for(std::chrono::milliseconds(1));
    *static_cast<float*>(to) = static_cast<float>(index);
  }

 private:
  int64_t size_, broken_;
  std::vector<Column> columns_{{Column::Role::kInput, "", {DType::kF32, {}}, {}}};
};

TEST(Loader, ErrorsReachTheCallerAfterTheBatchesBeforeThem) {
  Loader loader(std::make_shared<SlowDataset>(100, 25), kFirst,
                {.batch_size = 10, .shuffle = false});
  EXPECT_EQ(samples_of(*loader.next()).front(), 0);
  EXPECT_EQ(samples_of(*loader.next()).front(), 10);
  for (int i = 0; i < 2; ++i)
    expect_error(ErrorCode::kDataLoss, "[disk] must be whole (sample 25)", [&] { loader.next(); });
}

TEST(Loader, StopsWithinABatch) {
  const auto begin = std::chrono::steady_clock::now();
  {
    // The batch alone would take 100 seconds.
    Loader loader(std::make_shared<SlowDataset>(100000, -1), kFirst, {.batch_size = 100000});
    std::this_thread::sleep_for(std::chrono::milliseconds(5));
  }
  EXPECT_LT(std::chrono::steady_clock::now() - begin, std::chrono::seconds(20));
}

TEST(Loader, StopsWhenNobodyTakesItsBatches) {
  Loader loader(counting(1000), kFirst, {.batch_size = 1});
  loader.next();
}

TEST(Loader, RefusesOptionsOutOfRange) {
  const auto refused = [](const LoaderOptions& options, const std::string& message) {
    expect_error(ErrorCode::kInvalidArgument, message,
                 [&] { Loader(counting(1), kFirst, options); });
  };
  refused({.batch_size = 0}, "[batch_size] must be >= 1: 0");
  refused({.epoch = -1}, "[epoch] must be >= 0: -1");
  refused({.first_batch = -1}, "[first_batch] must be >= 0: -1");
  refused({.epochs = -1}, "[epochs] must be >= 0: -1");
  expect_error(ErrorCode::kInvalidArgument, "[x] samples must have shape [2]: the data has []", [] {
    Loader(counting(1), {{0, {DType::kF32, {2}}}}, {});
  });
}

}  // namespace
}  // namespace lockstep
