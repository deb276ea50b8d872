#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <fstream>

#include "lockstep/data/sources.h"
#include "lockstep/formats/mapped_file.h"
#include "lockstep/formats/npy.h"
#include "lockstep/tensor/philox.h"
#include "tests/formats/format_test_util.h"

namespace lockstep {
namespace {

Bytes npy_header(const std::string& descriptor, const std::string& shape,
                 const char* is_fortran = "False") {
  std::string header = fmt::format("{{'descr': '{}', 'fortran_order': {}, 'shape': {}, }}",
                                   descriptor, is_fortran, shape);
  header.resize(117, ' ');
  return Bytes("\x93NUMPY\1\0\x76\0", 10) + header + '\n';
}

/// Any bytes at all, but never the sign bit of an element: u8 elements of 2^63 have no place.
Bytes noise(size_t elements, size_t element_bytes, bool is_big_endian) {
  Bytes bytes;
  for (size_t i = 0; i < elements * element_bytes; ++i) {
    const size_t most_significant = is_big_endian ? 0 : element_bytes - 1;
    const uint32_t word = philox4x32({static_cast<uint32_t>(i), 0, 0, 0}, {1, 2})[0];
    bytes += static_cast<char>(i % element_bytes == most_significant ? word & 127 : word);
  }
  return bytes;
}

Bytes stored_row(const Dataset& data, int64_t index, size_t column) {
  Bytes row(data.columns()[column].row.size_bytes(), '?');
  data.read(index, column, row.data());
  return row;
}

/// Opens `folder` after writing `bytes` to its file `name`.
DatasetPtr open_with(const TemporaryFolder& folder, const char* name, const Bytes& bytes) {
  std::filesystem::create_directories((folder / name).parent_path());
  write_file_atomically(folder / name, bytes);
  return open_source("npy:" + folder.path().string(), Part::kTrain);
}

HostTensor numbers(int64_t rows) {
  HostTensor tensor(DType::kF32, {rows, 2});
  for (int64_t i = 0; i < 2 * rows; ++i) tensor.data<float>()[i] = static_cast<float>(i);
  return tensor;
}

class EveryType : public testing::TestWithParam<const char*> {};

TEST_P(EveryType, RowsAreThoseOfAnNpz) {
  const std::string descriptor = GetParam();
  const auto element = static_cast<size_t>(descriptor[2] - '0');
  const Bytes bytes =
      npy_header(descriptor, "(7, 3, 5)") + noise(7 * 3 * 5, element, descriptor[0] == '>');
  const TemporaryFolder folder;
  const DatasetPtr mapped = open_with(folder, "x.npy", bytes);
  ZipWriter zip;
  zip.add("x.npy", bytes);
  write_file_atomically(folder / "same.npz", zip.finish());
  const DatasetPtr unpacked = open_npz(folder / "same.npz");
  ASSERT_EQ(mapped->size(), 7);
  ASSERT_EQ(mapped->columns()[0].row, unpacked->columns()[0].row);
  for (const int64_t i : {6, 0, 3, 3, 5, 1, 2, 4})
    EXPECT_EQ(stored_row(*mapped, i, 0), stored_row(*unpacked, i, 0)) << i;
}

INSTANTIATE_TEST_SUITE_P(MappedNpy, EveryType,
                         testing::Values("|b1", "|i1", "|u1", "<i2", ">i2", "<u2", ">u2", "<i4",
                                         ">i4", "<u4", ">u4", "<i8", ">i8", "<u8", ">u8", "<f2",
                                         ">f2", "<f4", ">f4", "<f8", ">f8"),
                         [](const auto& type) {
                           const std::string descriptor = type.param;
                           const char* order = descriptor[0] == '>' ? "big_" : "little_";
                           return order + descriptor.substr(1);
                         });

TEST(MappedNpy, FilesNameColumnsInputsFirst) {
  const TemporaryFolder folder;
  open_with(folder, "x/right.npy", write_npy(numbers(2)));
  open_with(folder, "sample_weight/out.npy", write_npy(HostTensor::of<bool>({2}, {true, false})));
  open_with(folder, "y/out.npy", write_npy(HostTensor::of<int64_t>({2}, {3, 4})));
  open_with(folder, "notes.txt", "not read");
  open_with(folder, "elsewhere/z.npy", "not read");
  const DatasetPtr data = open_with(folder, "x/left.npy", write_npy(numbers(2)));
  std::vector<std::string> keys;
  for (const Column& column : data->columns()) keys.push_back(column_key(column));
  EXPECT_EQ(keys, (std::vector<std::string>{"x/left", "x/right", "y/out", "sample_weight/out"}));
  EXPECT_EQ(data->size(), 2);
  EXPECT_EQ(data->columns()[2].row.str(), "i64[]");
  EXPECT_EQ(stored_row(*data, 1, 3), Bytes(1, '\0'));
}

TEST(MappedNpy, SingleOnesNeedNoName) {
  const TemporaryFolder folder;
  open_with(folder, "x.npy", write_npy(numbers(3)));
  open_with(folder, "y.npy", write_npy(numbers(3)));
  const DatasetPtr data = open_with(folder, "sample_weight.npy", write_npy(numbers(3)));
  ASSERT_EQ(data->columns().size(), 3u);
  EXPECT_EQ(column_key(data->columns()[1]), "y");
  const float row[] = {4, 5};
  EXPECT_EQ(stored_row(*data, 2, 2), Bytes(reinterpret_cast<const char*>(row), 8));
}

TEST(MappedNpy, RowsMayBeEmptyAndSamplesNone) {
  const TemporaryFolder folder;
  EXPECT_EQ(stored_row(*open_with(folder, "x.npy", npy_header("<f4", "(3, 0)")), 2, 0), "");
  EXPECT_EQ(open_with(folder, "x.npy", npy_header("<f4", "(0, 3)"))->size(), 0);
}

TEST(MappedNpy, SaysWhatIsMissing) {
  const TemporaryFolder folder;
  expect_error(ErrorCode::kNotFound, "none] cannot be listed: No such file or directory",
               [&] { open_npy_folder(folder / "none"); });
  expect_error(ErrorCode::kInvalidArgument, "a key x or x/<input> must be there: 0 other keys came",
               [&] { open_npy_folder(folder.path()); });
  expect_error(ErrorCode::kInvalidArgument, "a key x or x/<input> must be there: 1 other keys came",
               [&] { open_with(folder, "y.npy", write_npy(numbers(2))); });
  expect_error(ErrorCode::kInvalidArgument, "equally many samples: x has 3, y has 2 (/",
               [&] { open_with(folder, "x.npy", write_npy(numbers(3))); });
  expect_error(ErrorCode::kInvalidArgument, "sample_weight: \"weights\"",
               [&] { open_with(folder, "weights.npy", write_npy(numbers(2))); });
}

TEST(MappedNpy, SaysWhatIsWrongWithAFile) {
  const TemporaryFolder folder;
  const auto refuse = [&](ErrorCode code, const char* message, const Bytes& bytes) {
    expect_error(code, message, [&] { open_with(folder, "x.npy", bytes); });
  };
  const Bytes header = npy_header("<f4", "(2, 3)");
  refuse(ErrorCode::kDataLoss, "x.npy] an array of <f4 [2,3] needs 24 bytes of data: 23 are there",
         header + Bytes(23, '\0'));
  refuse(ErrorCode::kDataLoss, "needs 24 bytes of data: 25 are there", header + Bytes(25, '\0'));
  refuse(ErrorCode::kDataLoss, "x.npy] the .npy header claims 118 bytes", header.substr(0, 60));
  refuse(ErrorCode::kDataLoss, "x.npy] must begin with NumPy's magic bytes", "");
  refuse(ErrorCode::kUnsupported, "object arrays are pickled code", npy_header("|O", "(2,)"));
  refuse(ErrorCode::kUnsupported,
         "x.npy] a mapped array must be in C order, row after row: it is in Fortran order. Save "
         "numpy.ascontiguousarray(array)",
         npy_header("<f4", "(2, 3)", "True") + Bytes(24, '\0'));
  refuse(ErrorCode::kInvalidArgument, "[x] arrays must have a first axis of samples: f32[]",
         npy_header("<f4", "()") + Bytes(4, '\0'));
}

TEST(MappedNpy, NumbersWithoutAPlaceAreFoundWhenRead) {
  const TemporaryFolder folder;
  const DatasetPtr data =
      open_with(folder, "x.npy", npy_header("<u8", "(2, 2)") + Bytes(24, '\0') + Bytes(8, '\xff'));
  EXPECT_EQ(stored_row(*data, 0, 0), Bytes(16, '\0'));
  expect_error(ErrorCode::kUnsupported, "x.npy] unsigned integers must be below 2^63: element 3",
               [&] { stored_row(*data, 1, 0); });
}

TEST(MappedNpy, AReplacedFileStaysAsItWas) {
  const TemporaryFolder folder;
  const DatasetPtr data = open_with(folder, "x.npy", npy_header("|u1", "(3,)") + "abc");
  write_file_atomically(folder / "x.npy", "");
  EXPECT_EQ(stored_row(*data, 2, 0), "c");
}

/// Memory of this process, what is mapped from files included.
int64_t resident_bytes() {
  std::ifstream statm("/proc/self/statm");
  int64_t total = 0, resident = 0;
  statm >> total >> resident;
  return resident * ::sysconf(_SC_PAGESIZE);
}

TEST(MappedNpy, SixGigabytesTakeLittleMemory) {
  constexpr int64_t kRows = 96 << 10, kRowBytes = 64 << 10;  // 6 GiB
  const TemporaryFolder folder;
  write_file_atomically(folder / "x.npy",
                        npy_header("|u1", fmt::format("({}, {})", kRows, kRowBytes)));
  std::filesystem::resize_file(folder / "x.npy", 128 + kRows * kRowBytes);
  std::fstream file(folder / "x.npy", std::ios::in | std::ios::out | std::ios::binary);
  file.seekp(128 + (kRows - 1) * kRowBytes);
  file << "last row";
  file.close();

  const int64_t before = resident_bytes();
  const DatasetPtr data = open_npy_folder(folder.path());
  Bytes row(kRowBytes, '?');
  int64_t most = 0;
  for (int64_t i = 0; i < 4000; ++i) {  // 250 MiB, far apart
    data->read(i * 7919 % kRows, 0, row.data());
    most = std::max(most, resident_bytes());
  }
  data->read(kRows - 1, 0, row.data());
  EXPECT_EQ(row.substr(0, 9), Bytes("last row\0", 9));
#ifndef __SANITIZE_THREAD__  // whose shadow of what was read is resident, too
  EXPECT_LT(most - before, 64 << 20);
#endif
}

TEST(MappedFile, EmptyFilesAreEmpty) {
  const TemporaryFolder folder;
  write_file_atomically(folder / "x", "");
  const MappedFile file(folder / "x");
  EXPECT_EQ(file.bytes(), "");
  file.will_read(0, 0);
}

TEST(MappedFile, OnlyFilesCanBeMapped) {
  const TemporaryFolder folder;
  expect_error(ErrorCode::kNotFound, "x] cannot be read: No such file or directory",
               [&] { MappedFile(folder / "x"); });
  expect_error(ErrorCode::kNotFound, "cannot be read: it must be a file",
               [&] { MappedFile file(folder.path()); });
  ASSERT_EQ(::mkfifo((folder / "pipe").c_str(), 0600), 0);
  expect_error(ErrorCode::kNotFound, "pipe] cannot be read: it must be a file",
               [&] { MappedFile file(folder / "pipe"); });
}

}  // namespace
}  // namespace lockstep
