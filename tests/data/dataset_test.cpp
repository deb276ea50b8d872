#include "lockstep/data/dataset.h"

#include <gtest/gtest.h>

#include "tests/formats/format_test_util.h"

namespace lockstep {
namespace {

template <class T>
std::vector<T> row_of(const Dataset& dataset, int64_t index, size_t column) {
  std::vector<T> row(static_cast<size_t>(dataset.columns()[column].row.size()));
  dataset.read(index, column, row.data());
  return row;
}

ArrayDataset::Array array(Column::Role role, std::string name, HostTensor tensor) {
  return {{role, std::move(name), {}, {}}, std::move(tensor)};
}

TEST(Column, KeyIsSpelledAsInFiles) {
  EXPECT_EQ(column_key({Column::Role::kInput, "", {}, {}}), "x");
  EXPECT_EQ(column_key({Column::Role::kTarget, "logits", {}, {}}), "y/logits");
  EXPECT_EQ(column_key({Column::Role::kSampleWeight, "a", {}, {}}), "sample_weight/a");
}

TEST(ArrayDataset, DeliversRowsAsStored) {
  const auto data = dataset(HostTensor::of<float>({3, 2}, {1, 2, 3, 4, 5, 6}),
                            HostTensor::of<int64_t>({3}, {7, 8, 9}),
                            HostTensor::of<double>({3, 1}, {0.5, 1.5, 2.5}));
  ASSERT_EQ(data->size(), 3);
  ASSERT_EQ(data->columns().size(), 3u);
  EXPECT_EQ(data->columns()[0].row.str(), "f32[2]");
  EXPECT_EQ(data->columns()[1].row.str(), "i64[]");
  EXPECT_EQ(data->columns()[1].role, Column::Role::kTarget);
  EXPECT_EQ(data->columns()[2].role, Column::Role::kSampleWeight);
  EXPECT_EQ(row_of<float>(*data, 1, 0), (std::vector<float>{3, 4}));
  EXPECT_EQ(row_of<int64_t>(*data, 2, 1), (std::vector<int64_t>{9}));
  EXPECT_EQ(row_of<double>(*data, 0, 2), (std::vector<double>{0.5}));
}

TEST(ArrayDataset, RowsOfNoElementsAreFine) {
  const auto data = dataset(HostTensor(DType::kF32, {4, 0}));
  EXPECT_EQ(data->size(), 4);
  data->read(3, 0, nullptr);
}

TEST(ArrayDataset, RefusesUnequalNumbersOfSamples) {
  expect_error(ErrorCode::kInvalidArgument,
               "arrays must have equally many samples: x/image has 2, y/digit has 3", [] {
                 std::vector<ArrayDataset::Array> arrays;
                 arrays.push_back(array(Column::Role::kInput, "image", {DType::kU8, {2, 4}}));
                 arrays.push_back(array(Column::Role::kTarget, "digit", {DType::kU8, {3}}));
                 ArrayDataset{std::move(arrays)};
               });
}

TEST(ArrayDataset, RefusesScalarsAndNothing) {
  expect_error(ErrorCode::kInvalidArgument, "[x] arrays must have a first axis of samples: f32[]",
               [] { dataset(HostTensor::scalar(1.0f)); });
  expect_error(ErrorCode::kInvalidArgument, "at least one array expected",
               [] { ArrayDataset(std::vector<ArrayDataset::Array>{}); });
}

TEST(Slice, IsAWindow) {
  const auto data = dataset(HostTensor::of<int32_t>({5}, {10, 11, 12, 13, 14}));
  const auto part = slice(slice(data, 1, 5), 1, 3);
  ASSERT_EQ(part->size(), 2);
  EXPECT_EQ(row_of<int32_t>(*part, 0, 0), (std::vector<int32_t>{12}));
  EXPECT_EQ(row_of<int32_t>(*part, 1, 0), (std::vector<int32_t>{13}));
  EXPECT_EQ(slice(data, 5, 5)->size(), 0);
}

TEST(Slice, RefusesWhatLiesOutside) {
  const auto data = dataset(HostTensor(DType::kF32, {5}));
  for (const auto& [begin, end] : {std::pair{-1, 2}, {3, 2}, {0, 6}})
    expect_error(ErrorCode::kInvalidArgument, "a slice must lie in [0, 5): [",
                 [&] { slice(data, begin, end); });
}

TEST(OneHotTargets, WritesRowsOfFloats) {
  const auto labels = HostTensor::of<uint8_t>({3, 1}, {2, 0, 1});
  const auto data = one_hot_targets(dataset(HostTensor::of<float>({3}, {1, 2, 3}), labels), 3);
  EXPECT_EQ(data->size(), 3);
  EXPECT_EQ(data->columns()[1].row.str(), "f32[3]");
  EXPECT_EQ(row_of<float>(*data, 0, 1), (std::vector<float>{0, 0, 1}));
  EXPECT_EQ(row_of<float>(*data, 1, 1), (std::vector<float>{1, 0, 0}));
  EXPECT_EQ(row_of<float>(*data, 2, 0), (std::vector<float>{3}));
}

TEST(OneHotTargets, LeavesOtherTargetsAlone) {
  const auto x = HostTensor(DType::kF32, {2, 1});
  EXPECT_EQ(one_hot_targets(dataset(x, HostTensor(DType::kF32, {2})), 3)->columns()[1].row.str(),
            "f32[]");
  EXPECT_EQ(one_hot_targets(dataset(x, HostTensor(DType::kS32, {2, 4})), 3)->columns()[1].row.str(),
            "i32[4]");
}

TEST(OneHotTargets, RefusesOtherLabels) {
  const auto x = HostTensor(DType::kF32, {2});
  const auto data = one_hot_targets(dataset(x, HostTensor::of<int64_t>({2}, {-1, 3})), 3);
  expect_error(ErrorCode::kInvalidArgument, "[y] labels must be in [0, 3): -1",
               [&] { row_of<float>(*data, 0, 1); });
  expect_error(ErrorCode::kInvalidArgument, "[y] labels must be in [0, 3): 3",
               [&] { row_of<float>(*data, 1, 1); });
  expect_error(ErrorCode::kInvalidArgument, "one-hot rows need classes >= 1: 0",
               [&] { one_hot_targets(data, 0); });
}

}  // namespace
}  // namespace lockstep
