// The bytes of compile options, against the wire format decoded by hand.
#include "lockstep/backend/pjrt/compile_options.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

namespace lockstep::pjrt {
namespace {

std::string hex(const ProgramOptions& options) {
  std::string text;
  for (char byte : serialize(options))
    text += fmt::format("{}{:02x}", text.empty() ? "" : " ", static_cast<unsigned char>(byte));
  return text;
}

// A field is its number << 3 | wire type: 0 a varint, 1 eight bytes, 2 a length and as many bytes.
// 1a: field 3, the build options; in them 20: field 4, replicas, and 28: field 5, partitions. The
// second 20: field 4 of the whole, "compile for any device".

TEST(CompileOptions, AreOneReplicaOnAnyDeviceByDefault) {
  EXPECT_EQ(hex({}), "1a 04 20 01 28 01 20 01");
}

TEST(CompileOptions, MayBindAProgramToItsDevices) {
  EXPECT_EQ(hex({.replicas = 3, .is_portable = false, .flags = {}}), "1a 04 20 03 28 01");
}

TEST(CompileOptions, WriteLongNumbersSevenBitsAtATime) {
  EXPECT_EQ(hex({.replicas = 300, .is_portable = false, .flags = {}}), "1a 05 20 ac 02 28 01");
  EXPECT_EQ(hex({.replicas = 128, .is_portable = false, .flags = {}}), "1a 05 20 80 01 28 01");
  EXPECT_EQ(hex({.replicas = 127, .is_portable = false, .flags = {}}), "1a 04 20 7f 28 01");
}

// 3a: field 7, an entry of a map: 0a its key, 12 its value, a message with one of four fields.

std::string flag_hex(Flag flag) {
  const std::string all = hex({.replicas = 1, .is_portable = false, .flags = {std::move(flag)}}),
                    start = "1a 04 20 01 28 01 ";
  EXPECT_EQ(all.substr(0, start.size()), start);
  return all.substr(start.size());
}

TEST(CompileOptions, NameFlagsWithTheirTypedValues) {
  EXPECT_EQ(flag_hex({"ab", true}), "3a 08 0a 02 61 62 12 02 10 01");
  EXPECT_EQ(flag_hex({"ab", false}), "3a 08 0a 02 61 62 12 02 10 00");
  EXPECT_EQ(flag_hex({"ab", int64_t{5}}), "3a 08 0a 02 61 62 12 02 18 05");
  EXPECT_EQ(flag_hex({"ab", std::string("xyz")}), "3a 0b 0a 02 61 62 12 05 0a 03 78 79 7a");
  EXPECT_EQ(flag_hex({"ab", 0.5}), "3a 0f 0a 02 61 62 12 09 21 00 00 00 00 00 00 e0 3f");
}

TEST(CompileOptions, WriteNegativeNumbersInTenBytes) {
  EXPECT_EQ(flag_hex({"a", int64_t{-1}}), "3a 10 0a 01 61 12 0b 18 ff ff ff ff ff ff ff ff ff 01");
}

TEST(CompileOptions, KeepFlagsInTheirOrder) {
  EXPECT_EQ(hex({.replicas = 1, .is_portable = true, .flags = {{"b", true}, {"a", false}}}),
            "1a 04 20 01 28 01 20 01 3a 07 0a 01 62 12 02 10 01 3a 07 0a 01 61 12 02 10 00");
}

TEST(CompileOptions, HoldTextsOfAnyLength) {
  const std::string text = serialize({.flags = {{"a", std::string(300, 'x')}}});
  EXPECT_TRUE(text.ends_with(std::string("\x12\xaf\x02\x0a\xac\x02", 6) + std::string(300, 'x')));
}

}  // namespace
}  // namespace lockstep::pjrt
