#include "lockstep/base/error.h"

#include <gtest/gtest.h>

#include <array>

namespace lockstep {
namespace {

template <class Body>
Error caught(Body&& body) {
  try {
    body();
  } catch (const Error& error) {
    return error;
  }
  ADD_FAILURE() << "nothing was thrown";
  return Error(ErrorCode::kInternal, "test", "nothing was thrown");
}

TEST(Error, SaysWhereAndWhat) {
  const Error error = caught([] { invalid_argument("dense", "units must be > 0: {}", -3); });
  EXPECT_STREQ(error.what(), "[dense] units must be > 0: -3");
  EXPECT_EQ(error.code(), ErrorCode::kInvalidArgument);
}

TEST(Error, UnsupportedHasItsOwnCode) {
  EXPECT_EQ(caught([] { unsupported("lambda", "code in files is never run"); }).code(),
            ErrorCode::kUnsupported);
}

TEST(Error, ExitCodesAreThoseOfTheManual) {
  EXPECT_EQ(exit_code(ErrorCode::kInvalidArgument), 2);
  EXPECT_EQ(exit_code(ErrorCode::kUnsupported), 3);
  EXPECT_EQ(exit_code(ErrorCode::kOutOfMemory), 4);
  EXPECT_EQ(exit_code(ErrorCode::kNotFound), 5);
  EXPECT_EQ(exit_code(ErrorCode::kDataLoss), 6);
  EXPECT_EQ(exit_code(ErrorCode::kInternal), 70);
}

TEST(Error, ContextIsAppendedAndTheCodeKept) {
  const Error error = caught([] {
    with_context("layer \"fc\"", [] { fail(ErrorCode::kNotFound, "file", "no such key: kernel"); });
  });
  EXPECT_STREQ(error.what(), "[file] no such key: kernel (layer \"fc\")");
  EXPECT_EQ(error.code(), ErrorCode::kNotFound);
}

TEST(Error, ContextPassesResultsThrough) {
  EXPECT_EQ(with_context("sum", [] { return 3; }), 3);
}

TEST(Error, ABrokenInvariantIsOurBug) {
  const Error error = caught([] { LOCKSTEP_CHECK(1 + 1 == 3); });
  EXPECT_EQ(error.code(), ErrorCode::kInternal);
  EXPECT_NE(std::string(error.what()).find("1 + 1 == 3"), std::string::npos);
}

TEST(EditDistance, CountsInsertionsDeletionsAndSubstitutions) {
  EXPECT_EQ(edit_distance("", ""), 0);
  EXPECT_EQ(edit_distance("", "abc"), 3);
  EXPECT_EQ(edit_distance("kitten", "sitting"), 3);
  EXPECT_EQ(edit_distance("relu", "relu"), 0);
}

TEST(Printable, EscapesWhatNoTerminalShows) {
  EXPECT_EQ(printable("größe 1 \u2264 2, \U0001F600\n\tnext"),
            "größe 1 \u2264 2, \U0001F600\n\tnext");
  EXPECT_EQ(printable("a\xff\xc3(b"), "a\\xff\\xc3(b");
  EXPECT_EQ(printable("cut \xe2\x89"), "cut \\xe2\\x89");
  EXPECT_EQ(printable("\xc0\xaf \xed\xa0\x80 \xf4\x90\x80\x80"),
            "\\xc0\\xaf \\xed\\xa0\\x80 \\xf4\\x90\\x80\\x80");
  EXPECT_EQ(printable(std::string_view("\x1b[31m\0\x7f", 7)), "\\x1b[31m\\x00\\x7f");
  const Error error(ErrorCode::kDataLoss, "file", "name \xfe");
  EXPECT_STREQ(error.what(), "[file] name \\xfe");
}

TEST(ClosestName, OffersANearNameOnly) {
  const std::array<std::string_view, 3> names{"relu", "softmax", "sigmoid"};
  EXPECT_EQ(closest_name("sofmax", names), "softmax");
  EXPECT_EQ(closest_name("Relu", names), "relu");
  EXPECT_EQ(closest_name("convolution", names), "");
}

}  // namespace
}  // namespace lockstep
