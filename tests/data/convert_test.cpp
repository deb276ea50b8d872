#include "lockstep/data/convert.h"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>

#include "tests/formats/format_test_util.h"

namespace lockstep {
namespace {

template <class To, class From>
std::vector<To> converted(const std::vector<From>& from, std::optional<float> divisor = {}) {
  const Column column{Column::Role::kTarget,
                      "out",
                      {dtype_of<From>(), {static_cast<int64_t>(from.size())}},
                      divisor};
  std::vector<To> to(from.size());
  convert_row(column, from.data(), dtype_of<To>(), to.data());
  return to;
}

TEST(ConvertRow, BytesAreDividedExactly) {
  std::vector<uint8_t> bytes(256);
  for (int i = 0; i < 256; ++i) bytes[static_cast<size_t>(i)] = static_cast<uint8_t>(i);
  const auto floats = converted<float>(bytes, 255.0f);
  const auto doubles = converted<double>(bytes, 255.0f);
  for (size_t i = 0; i < 256; ++i) {
    EXPECT_EQ(floats[i], static_cast<float>(i) / 255.0f);
    EXPECT_EQ(doubles[i], static_cast<double>(i) / 255.0);
  }
}

TEST(ConvertRow, IntegersIgnoreTheDivisor) {
  EXPECT_EQ((converted<int32_t, uint8_t>({0, 255}, 255.0f)), (std::vector<int32_t>{0, 255}));
}

TEST(ConvertRow, ConvertsAsCppDoes) {
  EXPECT_EQ((converted<float, double>({0.1, -2.5})), (std::vector<float>{0.1f, -2.5f}));
  EXPECT_EQ((converted<int32_t, double>({2.9, -2.9, -0.5})), (std::vector<int32_t>{2, -2, 0}));
  EXPECT_EQ((converted<uint8_t, float>({255.5f, -0.5f})), (std::vector<uint8_t>{255, 0}));
  EXPECT_EQ((converted<float, int64_t>({-3, 16777217})), (std::vector<float>{-3, 16777216}));
  EXPECT_EQ((converted<int32_t, int64_t>({-1, 2147483647})),
            (std::vector<int32_t>{-1, 2147483647}));
  EXPECT_EQ((converted<int64_t, double>({-0x1p63})),
            (std::vector<int64_t>{std::numeric_limits<int64_t>::min()}));
}

TEST(ConvertRow, NotANumberIsANumberToFloats) {
  EXPECT_TRUE(std::isnan(converted<float, double>({std::nan("")})[0]));
  EXPECT_TRUE(std::isinf(converted<float, double>({1e300})[0]));
}

template <class To, class From>
void expect_no_place(From value, const std::string& message) {
  expect_error(ErrorCode::kInvalidArgument, message, [&] {
    converted<To, From>({From{0}, value});
  });
}

TEST(ConvertRow, RefusesWhatAnIntegerCannotHold) {
  expect_no_place<int32_t>(std::nan(""), "[y/out] values must fit int32: nan at element 1");
  expect_no_place<int32_t>(2147483648.0, "values must fit int32: 2147483648 at element 1");
  expect_no_place<int32_t>(int64_t{1} << 31, "values must fit int32: 2147483648");
  expect_no_place<uint8_t>(int32_t{-1}, "values must fit uint8: -1");
  expect_no_place<uint8_t>(-1.0f, "values must fit uint8: -1");
  expect_no_place<uint8_t>(256.0f, "values must fit uint8: 256");
  expect_no_place<int64_t>(0x1p63, "values must fit int64");
  expect_no_place<int32_t>(std::numeric_limits<float>::infinity(), "must fit int32: inf");
}

TEST(ConvertRow, BooleansAreNonZero) {
  const Column column{Column::Role::kInput, "", {DType::kF32, {3}}, {}};
  const float from[] = {0.0f, 0.25f, -1.0f};
  bool to[3];
  convert_row(column, from, DType::kBool, to);
  EXPECT_FALSE(to[0]);
  EXPECT_TRUE(to[1]);
  EXPECT_TRUE(to[2]);
}

}  // namespace
}  // namespace lockstep
