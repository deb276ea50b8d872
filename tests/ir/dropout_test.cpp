// The random-number contract of dropout, bit by bit, against a second writing of it.
#include <gtest/gtest.h>

#include <cmath>

#include "lockstep/backend/reference/reference_backend.h"
#include "lockstep/ir/builder.h"
#include "lockstep/tensor/philox.h"

namespace lockstep {
namespace {

constexpr PhiloxKey kKey{123, 456};
constexpr uint32_t kStep = 1000, kSite = 65536 * 3 + 1;

struct Dropped {
  HostTensor y, mask;
};

/// dropout of `rows` ones a row, the first of them row `first_row` of the global batch.
Dropped dropout(int64_t rows, int64_t row_size, double rate, uint32_t first_row) {
  Graph graph;
  Builder b(graph);
  const Value x = b.constant(1, {DType::kF32, {rows, row_size}});
  const Value key = b.constant(HostTensor::of<uint32_t>({2}, {kKey.k0, kKey.k1}));
  const auto result = b.dropout(x, key, b.constant(first_row, DType::kU32),
                                b.constant(kStep, DType::kU32), {rate, kSite});
  graph.add_result(result.y);
  graph.add_result(result.mask);
  auto values = evaluate(graph, {});
  return {std::move(values[0]), std::move(values[1])};
}

bool is_kept(uint32_t row, uint32_t element, double rate) {
  const uint32_t c0 = 16 * (element / 128) + element % 16, half = element / 16 % 8;
  const uint32_t word = philox4x32({c0, row, kStep, kSite}, kKey)[half / 2];
  const uint32_t value = half % 2 == 0 ? word & 0xffff : word >> 16;
  return value >= std::round(65536 * rate);
}

TEST(Dropout, KeepsWhatTheContractSays) {
  for (double rate : {0.0, 0.25, 0.3, 0.5, 0.999}) {
    constexpr int64_t kRows = 3, kSize = 300;
    const Dropped got = dropout(kRows, kSize, rate, 7);
    const float scale = static_cast<float>(1 / (1 - rate));
    for (uint32_t row = 0; row < kRows; ++row)
      for (uint32_t e = 0; e < kSize; ++e) {
        const bool kept = is_kept(7 + row, e, rate);
        ASSERT_EQ(got.y.data<float>()[row * kSize + e], kept ? scale : 0.0f) << row << " " << e;
        const uint16_t word = got.mask.data<uint16_t>()[row * ((kSize + 15) / 16) + e / 16];
        ASSERT_EQ((word >> (e % 16)) & 1, kept ? 1 : 0) << row << " " << e;
      }
  }
}

TEST(Dropout, BitsBeyondARowsEndAreZero) {
  const Dropped got = dropout(2, 21, 0.0, 0);
  const auto mask = got.mask.data<uint16_t>();
  EXPECT_EQ(mask[0], 0xffff);
  EXPECT_EQ(mask[1], 0x001f);
}

TEST(Dropout, ATowersMaskIsItsSliceOfTheBatchs) {
  const Dropped batch = dropout(6, 40, 0.5, 0), tower = dropout(2, 40, 0.5, 4);
  for (size_t i = 0; i < 80; ++i)
    EXPECT_EQ(tower.y.data<float>()[i], batch.y.data<float>()[4 * 40 + i]);
}

TEST(Dropout, DropsItsShare) {
  const Dropped got = dropout(10, 1000, 0.3, 0);
  int dropped = 0;
  for (float value : got.y.data<float>()) dropped += value == 0;
  // Five standard deviations of a binomial count: 5 * sqrt(10000 * 0.3 * 0.7).
  EXPECT_NEAR(dropped, 3000, 230);
}

}  // namespace
}  // namespace lockstep
