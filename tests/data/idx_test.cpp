#include "lockstep/data/idx.h"

#include <gtest/gtest.h>

#include "tests/data/data_test_util.h"
#include "tests/formats/format_test_util.h"

namespace lockstep {
namespace {

using namespace std::string_literals;

TEST(ParseIdx, BytesOfAnyRank) {
  const HostTensor tensor = parse_idx(idx_bytes(0x08, {2, 1, 2}, "\x00\x01\x80\xff"s), "f");
  EXPECT_TRUE(tensor.same_bits(HostTensor::of<uint8_t>({2, 1, 2}, {0, 1, 128, 255})));
  EXPECT_EQ(parse_idx(idx_bytes(0x08, std::vector<uint32_t>(255, 1), "a"), "f").shape().rank(),
            255);
}

TEST(ParseIdx, EveryTypeIsBigEndian) {
  EXPECT_TRUE(parse_idx(idx_bytes(0x09, {2}, "\x01\xff"s), "f")
                  .same_bits(HostTensor::of<int32_t>({2}, {1, -1})));
  EXPECT_TRUE(parse_idx(idx_bytes(0x0B, {2}, "\x01\x02\xff\xfe"s), "f")
                  .same_bits(HostTensor::of<int32_t>({2}, {258, -2})));
  EXPECT_TRUE(parse_idx(idx_bytes(0x0C, {1}, "\x80\x00\x00\x01"s), "f")
                  .same_bits(HostTensor::of<int32_t>({1}, {-2147483647})));
  EXPECT_TRUE(parse_idx(idx_bytes(0x0D, {1}, "\x3f\xc0\x00\x00"s), "f")
                  .same_bits(HostTensor::of<float>({1}, {1.5f})));
  EXPECT_TRUE(parse_idx(idx_bytes(0x0E, {1}, "\xbf\xf8\0\0\0\0\0\0"s), "f")
                  .same_bits(HostTensor::of<double>({1}, {-1.5})));
}

void expect_damaged(const std::string& bytes, const std::string& message) {
  expect_error(ErrorCode::kDataLoss, message, [&] { parse_idx(bytes, "labels"); });
}

TEST(ParseIdx, SaysWhatIsWrong) {
  expect_damaged("", "[labels] IDX must begin with two zero bytes, type and rank");
  expect_damaged("\x00\x00\x08"s, "IDX must begin with two zero bytes, type and rank");
  expect_damaged("\x1f\x8b\x08\x01"s, "IDX must begin with two zero bytes, type and rank");
  expect_damaged("\x00\x00\x0a\x01"s, "an IDX type must be one of 08, 09, 0B, 0C, 0D, 0E: 0A");
  expect_damaged("\x00\x00\x08\x00"s, "must hold one extent or more: rank 0 in 4 bytes");
  expect_damaged("\x00\x00\x08\x02\0\0\0\1"s, "must hold one extent or more: rank 2 in 8 bytes");
  expect_damaged(idx_bytes(0x08, {2, 0}, ""), "IDX extents must be >= 1: axis 1 has 0");
  expect_damaged(idx_bytes(0x08, {2, 2}, "abc"),
                 "IDX data of shape [2,2] needs 1 bytes an element: 3 bytes came");
  expect_damaged(idx_bytes(0x08, {2}, "abc"), "needs 1 bytes an element: 3 bytes came");
  expect_damaged(idx_bytes(0x0B, {2}, "abcde"), "needs 2 bytes an element: 5 bytes came");
}

TEST(ParseIdx, ExtentsDoNotOverflow) {
  const uint32_t most = 0xffffffff;
  expect_damaged(idx_bytes(0x0E, {most, most, most}, ""), "0 bytes came");
  // 2^16 * 2^16 * 2^16 * 2^16 = 2^64 wraps to 0.
  expect_damaged(idx_bytes(0x08, {1 << 16, 1 << 16, 1 << 16, 1 << 16}, ""), "0 bytes came");
}

}  // namespace
}  // namespace lockstep
