// Damaged .keras files are refused, naming the damaged member: never other weights, never a crash.
#include "lockstep/formats/hdf5.h"
#include "tests/io/io_test_util.h"

namespace lockstep {
namespace {

class DamagedKerasFile : public KerasFileTest {};

TEST_F(DamagedKerasFile, ATruncatedFileIsDataLoss) {
  const Bytes whole = written();
  for (size_t size = 0; size < whole.size(); size += size < 200 ? 7 : 211)
    expect_error(ErrorCode::kDataLoss, "m.keras",
                 [&] { read_keras_file(file_of(whole.substr(0, size))); });
}

TEST_F(DamagedKerasFile, AFlippedBitInAMemberIsDataLossNamingIt) {
  const Bytes whole = written();
  for (const char* member : {"config.json", "model.weights.h5"}) {
    const Bytes content = ZipReader(whole, "m").read(member);
    const size_t start = whole.find(content);
    ASSERT_NE(start, Bytes::npos) << "members are stored as they are";
    for (size_t at = 0; at < content.size(); at += 1 + content.size() / 60) {
      Bytes damaged = whole;
      damaged[start + at] = static_cast<char>(damaged[start + at] ^ (1 << at % 8));
      expect_error(ErrorCode::kDataLoss, member, [&] { read_keras_file(file_of(damaged)); });
    }
  }
}

TEST_F(DamagedKerasFile, NoFlippedBitAnywhereGivesOtherWeights) {
  const Bytes whole = written();
  const std::vector<HostTensor> want = weights_of(*network_);
  int refused = 0;
  // The archive's directory is at the end: every byte there, a sample of the rest.
  for (size_t at = 0; at < whole.size(); at += at + 400 < whole.size() ? 173 : 1)
    for (const int bit : {0, 3, 7}) {
      Bytes damaged = whole;
      damaged[at] = static_cast<char>(damaged[at] ^ (1 << bit));
      try {
        const KerasFile file = read_keras_file(file_of(damaged));
        ASSERT_TRUE(same_bits(weights_of(*file.network), want)) << "byte " << at;
        ASSERT_EQ(file.optimizer->iterations, state_.iterations) << "byte " << at;
      } catch (const Error& error) {
        ASSERT_NE(error.code(), ErrorCode::kInternal) << "byte " << at << ": " << error.what();
        ASSERT_NE(std::string(error.what()).find("m.keras"), std::string::npos) << error.what();
        ++refused;
      }
    }
  EXPECT_GT(refused, 100);
}

TEST_F(DamagedKerasFile, AMissingMemberIsNamed) {
  for (const char* member : {"config.json", "model.weights.h5"})
    expect_error(ErrorCode::kDataLoss, member,
                 [&] { read_keras_file(file_of(with_member(written(), member, std::nullopt))); });
  // Keras reads its version and date there; we need neither.
  read_keras_file(file_of(with_member(written(), "metadata.json", std::nullopt)));
}

TEST_F(DamagedKerasFile, AMemberOfAnotherKindIsNamed) {
  for (const char* text : {"", "{", "\xff\xfe", "{\"a\": 1}}"})
    expect_error(ErrorCode::kDataLoss, "config.json",
                 [&] { read_keras_file(file_of(with_member(written(), "config.json", text))); });
  for (const char* text : {"", "no HDF5"})
    expect_error(ErrorCode::kDataLoss, "model.weights.h5", [&] {
      read_keras_file(file_of(with_member(written(), "model.weights.h5", text)));
    });
}

TEST_F(DamagedKerasFile, AConfigurationOfSomethingElseIsRefused) {
  for (const char* text :
       {"null", "[]", "1", "\"Functional\"", "{}", R"({"class_name": "Functional"})",
        R"({"class_name": "Functional", "config": null})",
        R"({"class_name": "Dense", "config": {"units": 3}})"})
    try {
      read_keras_file(file_of(with_member(written(), "config.json", text)));
      ADD_FAILURE() << text;
    } catch (const Error& error) {
      EXPECT_NE(error.code(), ErrorCode::kInternal) << error.what();
      EXPECT_NE(std::string(error.what()).find("m.keras"), std::string::npos) << error.what();
    }
}

TEST_F(DamagedKerasFile, MissingPathsAreNotFound) {
  expect_error(ErrorCode::kNotFound, "none.keras",
               [&] { read_keras_file(folder_ / "none.keras"); });
  expect_error(ErrorCode::kNotFound, "none.json", [&] { read_model_file(folder_ / "none.json"); });
  expect_error(ErrorCode::kNotFound, "none.weights.h5",
               [&] { load_weights(folder_ / "none.weights.h5", *network_); });
}

}  // namespace
}  // namespace lockstep
