#include "lockstep/formats/files.h"

#include <thread>
#include <vector>

#include "tests/formats/format_test_util.h"

namespace lockstep {
namespace {

size_t file_count(const TemporaryFolder& folder) {
  size_t count = 0;
  for (const auto& entry : std::filesystem::directory_iterator(folder.path()))
    count += entry.is_regular_file();
  return count;
}

TEST(Files, WrittenBytesAreReadBack) {
  const TemporaryFolder folder;
  const Bytes bytes("a\0b\n\xff", 5);
  write_file_atomically(folder / "x", bytes);
  EXPECT_EQ(read_file(folder / "x"), bytes);
  write_file_atomically(folder / "x", "");
  EXPECT_EQ(read_file(folder / "x"), "");
  EXPECT_EQ(file_count(folder), 1u);
}

TEST(Files, RelativePathsWork) {
  const TemporaryFolder folder;
  const auto before = std::filesystem::current_path();
  std::filesystem::current_path(folder.path());
  write_file_atomically("x", "here");
  EXPECT_EQ(read_file("x"), "here");
  std::filesystem::current_path(before);
}

TEST(Files, MissingFilesAndFoldersAreNotFound) {
  const TemporaryFolder folder;
  expect_error(ErrorCode::kNotFound, "none] cannot be read: No such file or directory",
               [&] { read_file(folder / "none"); });
  expect_error(ErrorCode::kNotFound, "must be a file", [&] { read_file(folder.path()); });
}

TEST(Files, SizeIsBounded) {
  const TemporaryFolder folder;
  write_file_atomically(folder / "x", "12345");
  EXPECT_EQ(read_file(folder / "x", 5), "12345");
  expect_error(ErrorCode::kInvalidArgument, "must have at most 4 bytes: 5",
               [&] { read_file(folder / "x", 4); });
}

TEST(Files, FailedCreationNamesPathAndReason) {
  const TemporaryFolder folder;
  expect_error(ErrorCode::kInvalidArgument, "x] cannot be created: No such file or directory",
               [&] { write_file_atomically(folder / "none/x", "1"); });
}

TEST(Files, FailedRenameLeavesNothingBeside) {
  const TemporaryFolder folder;
  std::filesystem::create_directories(folder / "x/inner");
  expect_error(ErrorCode::kInvalidArgument, "cannot be renamed into place: Is a directory",
               [&] { write_file_atomically(folder / "x", "1"); });
  EXPECT_EQ(file_count(folder), 0u);
  EXPECT_TRUE(std::filesystem::is_directory(folder / "x/inner"));
}

TEST(Files, FailedWriteKeepsTheOldFile) {
  const TemporaryFolder folder;
  write_file_atomically(folder / "x", "old");
  {
    const FileSizeLimit limit(1000);
    expect_error(ErrorCode::kInvalidArgument, "cannot be written: File too large",
                 [&] { write_file_atomically(folder / "x", Bytes(5000, 'n')); });
  }
  EXPECT_EQ(read_file(folder / "x"), "old");
  EXPECT_EQ(file_count(folder), 1u);
}

TEST(Files, CreatedOnce) {
  const TemporaryFolder folder;
  EXPECT_TRUE(create_file(folder / "x", "first"));
  EXPECT_FALSE(create_file(folder / "x", "second"));
  EXPECT_EQ(read_file(folder / "x"), "first");
  expect_error(ErrorCode::kInvalidArgument, "x] cannot be created: No such file or directory",
               [&] { create_file(folder / "none/x", "1"); });
  const FileSizeLimit limit(1000);
  expect_error(ErrorCode::kInvalidArgument, "y] cannot be written: File too large",
               [&] { create_file(folder / "y", Bytes(5000, 'n')); });
  EXPECT_EQ(file_count(folder), 1u);
}

TEST(Files, AppendedOrAsTheyWere) {
  const TemporaryFolder folder;
  expect_error(ErrorCode::kNotFound, "x] cannot be opened: No such file or directory",
               [&] { append_to_file(folder / "x", "1"); });
  write_file_atomically(folder / "x", "old");
  append_to_file(folder / "x", " and new");
  EXPECT_EQ(read_file(folder / "x"), "old and new");
  const FileSizeLimit limit(1000);
  expect_error(ErrorCode::kInvalidArgument, "x] cannot be written: File too large",
               [&] { append_to_file(folder / "x", Bytes(5000, 'n')); });
  EXPECT_EQ(read_file(folder / "x"), "old and new");
}

TEST(Files, ThreadsWritingOnePathNeverMix) {
  const TemporaryFolder folder;
  std::vector<std::thread> writers;
  for (char c : {'a', 'b', 'c', 'd'})
    writers.emplace_back([&, c] {
      for (int i = 0; i < 10; ++i) write_file_atomically(folder / "x", Bytes(100'000, c));
    });
  for (auto& writer : writers) writer.join();
  const Bytes bytes = read_file(folder / "x");
  EXPECT_EQ(bytes, Bytes(100'000, bytes[0]));
  EXPECT_EQ(file_count(folder), 1u);
}

TEST(Files, Sha256OfTheStandardsExamples) {
  EXPECT_EQ(sha256_hex(""), "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855");
  EXPECT_EQ(sha256_hex("abc"), "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad");
}

TEST(Files, ALinksTargetIsWrittenAndTheLinkStays) {
  const TemporaryFolder folder;
  write_file_atomically(folder / "target", "old");
  std::filesystem::create_symlink("target", folder / "link");
  write_file_atomically(folder / "link", "new");
  EXPECT_TRUE(std::filesystem::is_symlink(folder / "link"));
  EXPECT_EQ(read_file(folder / "target"), "new");
}

TEST(Files, DevicesStayDevices) {
  const TemporaryFolder folder;
  std::filesystem::create_symlink("/dev/null", folder / "null");
  write_file_atomically(folder / "null", "gone");
  EXPECT_TRUE(std::filesystem::is_character_file(folder / "null"));
}

}  // namespace
}  // namespace lockstep
