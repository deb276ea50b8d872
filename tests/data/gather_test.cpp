#include "lockstep/data/gather.h"

#include <gtest/gtest.h>

#include <cmath>
#include <new>
#include <stdexcept>

#include "tests/formats/format_test_util.h"

namespace lockstep {
namespace {

/// Eight samples of one float; reading sample 5 does what the test says.
class FaultyDataset : public Dataset {
 public:
  explicit FaultyDataset(void (*fault)()) : fault_(fault) {}
  int64_t size() const override { return 8; }
  const std::vector<Column>& columns() const override { return columns_; }
  void read(int64_t index, size_t, void* to) const override {
    if (index == 5) fault_();
    *static_cast<float*>(to) = static_cast<float>(index);
  }

 private:
  void (*fault_)();
  std::vector<Column> columns_{{Column::Role::kInput, "", {DType::kF32, {}}, {}}};
};

const WantedColumn kFirst{0, {DType::kF32, {}}};

Batch gather_faulty(void (*fault)()) {
  return gather_all(std::make_shared<FaultyDataset>(fault), {kFirst});
}

TEST(Gather, PutsRowsBesideEachOther) {
  const auto data = dataset(HostTensor::of<uint8_t>({3, 2}, {0, 51, 102, 153, 204, 255}),
                            HostTensor::of<int64_t>({3}, {7, -1, 9}));
  const Batch batch = gather_all(
      data, {{1, {DType::kS32, {1}}}, {0, {DType::kF32, {2, 1}}}, {0, {DType::kU8, {2}}}});
  ASSERT_EQ(batch.rows, 3);
  const auto* labels = static_cast<const int32_t*>(batch.columns[0]);
  EXPECT_EQ(std::vector<int32_t>(labels, labels + 3), (std::vector<int32_t>{7, -1, 9}));
  const auto* floats = static_cast<const float*>(batch.columns[1]);
  EXPECT_EQ(std::vector<float>(floats, floats + 6),
            (std::vector<float>{0, 51, 102, 153, 204, 255}));
  EXPECT_EQ(static_cast<const uint8_t*>(batch.columns[2])[5], 255);
  for (const void* column : batch.columns) EXPECT_EQ(reinterpret_cast<uintptr_t>(column) % 64, 0u);
}

TEST(Gather, DividesOnlyFloats) {
  std::vector<ArrayDataset::Array> arrays;
  arrays.push_back(
      {{Column::Role::kInput, "", {}, 2.0f}, HostTensor::of<float>({2}, {3.0f, 5.0f})});
  const auto data = std::make_shared<ArrayDataset>(std::move(arrays));
  const Batch batch = gather_all(data, {kFirst, {0, {DType::kS32, {}}}});
  EXPECT_EQ(static_cast<const float*>(batch.columns[0])[1], 2.5f);
  EXPECT_EQ(static_cast<const int32_t*>(batch.columns[1])[1], 5);
}

TEST(Gather, RefusesRowsOfAnotherSize) {
  const auto data = dataset(HostTensor(DType::kF32, {3, 28, 28}));
  expect_error(ErrorCode::kInvalidArgument,
               "[x] samples must have shape [32,32]: the data has [28,28]", [&] {
                 RowGather(data, {{0, {DType::kF32, {32, 32}}}});
               });
  expect_error(ErrorCode::kInternal, "this must hold", [&] {
    RowGather(data, {{1, {DType::kF32, {28, 28}}}});
  });
}

TEST(Gather, ErrorsNameTheSample) {
  expect_error(ErrorCode::kDataLoss, "[disk] must be whole (sample 5)",
               [] { gather_faulty([] { fail(ErrorCode::kDataLoss, "disk", "must be whole"); }); });
  expect_error(ErrorCode::kInvalidArgument,
               "[dataset] a sample must be readable: too bad (sample 5)",
               [] { gather_faulty([] { throw std::out_of_range("too bad"); }); });
  expect_error(ErrorCode::kInvalidArgument,
               "[y] values must fit int32: nan at element 0 (sample 1)", [] {
                 gather_all(dataset(HostTensor::of<float>({2}, {1, 2}),
                                    HostTensor::of<double>({2}, {1, std::nan("")})),
                            {{1, {DType::kS32, {}}}});
               });
}

TEST(Gather, OtherExceptionsAreNested) {
  try {
    gather_faulty([] { throw std::out_of_range("too bad"); });
    FAIL() << "nothing was thrown";
  } catch (const Error& error) {
    EXPECT_THROW(std::rethrow_if_nested(error), std::out_of_range);
  }
  EXPECT_THROW(gather_faulty([] { throw std::bad_alloc(); }), std::bad_alloc);
  EXPECT_THROW(gather_faulty([] { throw 1; }), int);
}

}  // namespace
}  // namespace lockstep
