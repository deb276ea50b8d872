#include "lockstep/formats/json.h"

#include <cmath>
#include <limits>

#include "tests/formats/format_test_util.h"

namespace lockstep {
namespace {

std::string round_trip(std::string_view text) {
  return dump_json(parse_json(text, "t"));
}

TEST(Json, KeyOrderIsKept) {
  EXPECT_EQ(round_trip(R"({"z": 1, "a": [true, null, "x"], "m": {}})"),
            R"({"z":1,"a":[true,null,"x"],"m":{}})");
}

TEST(Json, NumbersAreWrittenAsPythonWritesThem) {
  // json.dumps of CPython 3.11.
  for (const char* number : {"0",
                             "-7",
                             "18446744073709551615",
                             "-9223372036854775808",
                             "0.001",
                             "0.0001",
                             "1e-05",
                             "1e-07",
                             "0.20000000298023224",
                             "1.0",
                             "-0.0",
                             "100000.0",
                             "1000000000000000.0",
                             "1e+16",
                             "1.5e+300",
                             "5e-324",
                             "9007199254740992.0",
                             "1.7976931348623157e+308",
                             "0.1",
                             "1e+22"})
    EXPECT_EQ(round_trip(number), number);
  EXPECT_EQ(dump_json(Json(double{0.1f})), "0.10000000149011612");
}

TEST(Json, PythonsLiteralsAreReadAndWritten) {
  const Json json = parse_json(R"({"a": [1, NaN, -Infinity, 2.5], "b": Infinity, "c": 0e3})", "t");
  EXPECT_TRUE(std::isnan(json["a"][1].get<double>()));
  EXPECT_EQ(json["a"][2].get<double>(), -std::numeric_limits<double>::infinity());
  EXPECT_EQ(json["a"][3].get<double>(), 2.5);
  EXPECT_EQ(json["b"].get<double>(), std::numeric_limits<double>::infinity());
  EXPECT_EQ(json["c"].get<double>(), 0.0);
  EXPECT_EQ(dump_json(json), R"({"a":[1,NaN,-Infinity,2.5],"b":Infinity,"c":0.0})");
  EXPECT_EQ(round_trip("NaN"), "NaN");
}

TEST(Json, LiteralsInTextsAreTexts) {
  for (const char* text : {R"({"NaN":"Infinity"})", R"(["a\"NaN","\\",NaN])",
                           R"(["\u0001number:NaN","\"\u0001number:NaN"])"})
    EXPECT_EQ(round_trip(text), text);
}

TEST(Json, IndentedAsPythonDoes) {
  EXPECT_EQ(dump_json(parse_json(R"({"a":[1,{"b":[]}],"c":{}})", "t"), 2),
            "{\n  \"a\": [\n    1,\n    {\n      \"b\": []\n    }\n  ],\n  \"c\": {}\n}");
}

TEST(Json, TextBeyondAsciiIsEscapedAndReadBack) {
  EXPECT_EQ(round_trip("\"\xc3\xa9\xf0\x9f\x98\x80\""), R"("\u00e9\ud83d\ude00")");
  expect_error(ErrorCode::kInvalidArgument, "[json] text must be UTF-8",
               [] { dump_json(Json(std::string("\xff"))); });
}

TEST(Json, TheLastOfEqualKeysCounts) {
  EXPECT_EQ(round_trip(R"({"a":1,"a":2})"), R"({"a":2})");
}

TEST(Json, DamageNamesFileAndPlace) {
  expect_error(ErrorCode::kDataLoss, "[config.json] must be JSON",
               [] { parse_json("", "config.json"); });
  expect_error(ErrorCode::kDataLoss, "column 12", [] { parse_json("[NaN, NaN, x]", "t"); });
  for (const char* text : {"{NaN:1}", "[1,]", "[NaNa]", "-Infinity1", "\"abc", "\"abc\\", "[1 2]",
                           "\"\xff\"", "[-]", "nan", "[1]]"})
    expect_error(ErrorCode::kDataLoss, "[t] must be JSON", [&] { parse_json(text, "t"); });
}

TEST(Json, DepthIsBounded) {
  const auto nested = [](size_t depth) {
    return std::string(depth, '[') + std::string(depth, ']');
  };
  EXPECT_EQ(round_trip(nested(256)), nested(256));
  expect_error(ErrorCode::kDataLoss, "[t] JSON must not nest deeper than 256 (byte 256)",
               [&] { parse_json(nested(257), "t"); });
  EXPECT_EQ(round_trip("\"" + std::string(300, '[') + "\""), "\"" + std::string(300, '[') + "\"");
}

TEST(Json, SizeIsBounded) {
  const std::string text((size_t{1} << 28) + 1, ' ');
  expect_error(ErrorCode::kDataLoss, "JSON must have at most 268435456 bytes: 268435457",
               [&] { parse_json(text, "t"); });
}

}  // namespace
}  // namespace lockstep
