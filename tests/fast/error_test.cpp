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

TEST(ClosestName, OffersANearNameOnly) {
  const std::array<std::string_view, 3> names{"relu", "softmax", "sigmoid"};
  EXPECT_EQ(closest_name("sofmax", names), "softmax");
  EXPECT_EQ(closest_name("Relu", names), "relu");
  EXPECT_EQ(closest_name("convolution", names), "");
}

}  // namespace
}  // namespace lockstep
