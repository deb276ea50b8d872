#include "lockstep/data/sources.h"

#include <gtest/gtest.h>

#include "lockstep/data/gather.h"
#include "lockstep/formats/npy.h"
#include "tests/data/data_test_util.h"
#include "tests/formats/format_test_util.h"

namespace lockstep {
namespace {

using namespace std::string_literals;

/// A folder of two training images of 1x2 and a test image in gzip.
void write_idx_folder(const TemporaryFolder& folder) {
  write_file_atomically(folder / "train-images-idx3-ubyte",
                        idx_bytes(0x08, {2, 1, 2}, "\x00\x33\xff\x01"s));
  write_file_atomically(folder / "train-labels-idx1-ubyte", idx_bytes(0x08, {2}, "\x04\x09"));
  write_file_atomically(folder / "t10k-images-idx3-ubyte.gz",
                        gzipped(idx_bytes(0x08, {1, 1, 2}, "\x07\x08")));
  write_file_atomically(folder / "t10k-labels-idx1-ubyte.gz",
                        gzipped(idx_bytes(0x08, {1}, "\x05")));
}

std::vector<float> all_floats(const DatasetPtr& data, size_t column) {
  const int64_t elements = data->columns()[column].row.size();
  const Batch batch =
      gather_all(data, {{column, {DType::kF32, data->columns()[column].row.shape}}});
  const auto* values = static_cast<const float*>(batch.columns[0]);
  return {values, values + batch.rows * elements};
}

TEST(IdxFolder, HasATrainingAndATestPart) {
  const TemporaryFolder folder;
  write_idx_folder(folder);
  const auto train = open_source("idx:" + folder.path().string(), Part::kTrain);
  ASSERT_EQ(train->size(), 2);
  EXPECT_EQ(train->columns()[0].row.str(), "ui8[1,2,1]");
  EXPECT_EQ(train->columns()[1].row.str(), "ui8[]");
  EXPECT_EQ(train->columns()[1].role, Column::Role::kTarget);
  EXPECT_EQ(all_floats(train, 0), (std::vector<float>{0, 51 / 255.0f, 1, 1 / 255.0f}));
  EXPECT_EQ(all_floats(train, 1), (std::vector<float>{4, 9}));
  const auto test = open_source("idx:" + folder.path().string(), Part::kTest);
  EXPECT_EQ(all_floats(test, 0), (std::vector<float>{7 / 255.0f, 8 / 255.0f}));
}

TEST(IdxFolder, FloatImagesAreLeftAsTheyAre) {
  const TemporaryFolder folder;
  write_file_atomically(folder / "train-images-idx3-ubyte",
                        idx_bytes(0x0D, {1, 1}, "\x43\x7f\x00\x00"s));
  write_file_atomically(folder / "train-labels-idx1-ubyte", idx_bytes(0x08, {1}, "\x01"));
  const auto data = open_idx_folder(folder.path(), Part::kTrain);
  EXPECT_EQ(data->columns()[0].row.str(), "f32[1]");
  EXPECT_EQ(all_floats(data, 0), (std::vector<float>{255}));
}

TEST(IdxFolder, SaysWhatIsMissingOrDamaged) {
  const TemporaryFolder folder;
  expect_error(ErrorCode::kNotFound, "must be a folder of IDX files",
               [&] { open_idx_folder(folder / "nowhere", Part::kTrain); });
  write_idx_folder(folder);
  std::filesystem::remove(folder / "train-labels-idx1-ubyte");
  expect_error(ErrorCode::kNotFound,
               "must hold train-labels-idx1-ubyte or train-labels-idx1-ubyte.gz: neither is there",
               [&] { open_idx_folder(folder.path(), Part::kTrain); });
  write_file_atomically(folder / "train-labels-idx1-ubyte", idx_bytes(0x08, {3}, "abc"));
  expect_error(ErrorCode::kInvalidArgument, "equally many samples: x has 2, y has 3 (/",
               [&] { open_idx_folder(folder.path(), Part::kTrain); });
  write_file_atomically(folder / "t10k-images-idx3-ubyte.gz", "no gzip");
  expect_error(ErrorCode::kDataLoss, "t10k-images-idx3-ubyte.gz] gzip data must be whole",
               [&] { open_idx_folder(folder.path(), Part::kTest); });
}

TEST(FashionMnist, NamesThePackageWhenItIsMissing) {
  expect_error(ErrorCode::kNotFound,
               "[fashion-mnist] /nowhere must be there. Install Debian's package "
               "dataset-fashion-mnist",
               [] { open_fashion_mnist(Part::kTrain, "/nowhere"); });
}

TEST(FashionMnist, KeepsBytes) {
  if (!std::filesystem::is_directory("/usr/share/datasets/fashion-mnist"))
    GTEST_SKIP() << "Debian's package dataset-fashion-mnist is not installed";
  const auto train = open_source("fashion-mnist", Part::kTrain);
  EXPECT_EQ(train->size(), 60000);
  EXPECT_EQ(train->columns()[0].row.str(), "ui8[28,28,1]");
  const auto test = open_source("fashion-mnist", Part::kTest);
  EXPECT_EQ(test->size(), 10000);
  // As NumPy reads them.
  const auto labels = all_floats(slice(test, 0, 8), 1);
  EXPECT_EQ(labels, (std::vector<float>{9, 2, 1, 1, 6, 1, 4, 6}));
}

HostTensor numbers() {
  return HostTensor::of<double>({2, 2}, {1, 2, 3, 4});
}

DatasetPtr open_written(const TemporaryFolder& folder, const std::vector<NamedTensor>& tensors) {
  write_file_atomically(folder / "data.npz", write_npz(tensors));
  return open_source((folder / "data.npz").string(), Part::kTrain);
}

TEST(Npz, KeysNameInputsAndOutputs) {
  const TemporaryFolder folder;
  const auto data =
      open_written(folder, {{"x/left", numbers()},
                            {"x/right", numbers()},
                            {"y/out", HostTensor::of<int64_t>({2}, {3, 4})},
                            {"sample_weight/out", HostTensor::of<bool>({2}, {1, 0})}});
  ASSERT_EQ(data->columns().size(), 4u);
  EXPECT_EQ(column_key(data->columns()[1]), "x/right");
  EXPECT_EQ(column_key(data->columns()[3]), "sample_weight/out");
  EXPECT_EQ(data->columns()[2].row.str(), "i64[]");
  EXPECT_EQ(all_floats(data, 0), (std::vector<float>{1, 2, 3, 4}));
  EXPECT_EQ(all_floats(data, 3), (std::vector<float>{1, 0}));
}

TEST(Npz, SingleOnesNeedNoName) {
  const TemporaryFolder folder;
  const auto data =
      open_written(folder, {{"x", numbers()}, {"y", numbers()}, {"sample_weight", numbers()}});
  EXPECT_EQ(column_key(data->columns()[0]), "x");
  EXPECT_EQ(column_key(data->columns()[2]), "sample_weight");
}

TEST(Npz, FortranAndBigEndianArraysAreRowsToo) {
  const TemporaryFolder folder;
  std::string header = "{'descr': '>f8', 'fortran_order': True, 'shape': (2, 2), }";
  header.resize(117, ' ');
  header += '\n';
  std::string npy = "\x93NUMPY\x01"s + '\0' + '\x76' + '\0' + header;
  for (const char* be : {"\x3f\xf0", "\x40\x08", "\x40\x00", "\x40\x10"})  // 1, 3, 2, 4
    npy += std::string(be, 2) + std::string(6, '\0');
  ZipWriter zip;
  zip.add("x.npy", npy);
  write_file_atomically(folder / "data.npz", zip.finish());
  EXPECT_EQ(all_floats(open_npz(folder / "data.npz"), 0), (std::vector<float>{1, 2, 3, 4}));
}

TEST(Npz, SaysWhatIsWrong) {
  const TemporaryFolder folder;
  for (const char* key : {"images", "x/", "xy", "y_out"})
    expect_error(ErrorCode::kInvalidArgument,
                 "keys must be x/<input>, y/<output>, sample_weight/<output>, or x, y, "
                 "sample_weight: \""s +
                     key + "\"",
                 [&] {
                   open_written(folder, {{key, numbers()}});
                 });
  expect_error(ErrorCode::kInvalidArgument, "a key x or x/<input> must be there: 1 other keys came",
               [&] {
                 open_written(folder, {{"y", numbers()}});
               });
  expect_error(ErrorCode::kInvalidArgument, "equally many samples: x has 2, y/out has 1 (/", [&] {
    open_written(folder, {{"x", numbers()}, {"y/out", HostTensor(DType::kF32, {1})}});
  });
  expect_error(ErrorCode::kNotFound, "none.npz",
               [&] { open_source((folder / "none.npz").string(), Part::kTrain); });
}

TEST(OpenSource, RefusesOtherSpellings) {
  expect_error(ErrorCode::kUnsupported, "[images:/tmp] unsupported source: folders of images",
               [] { open_source("images:/tmp", Part::kTrain); });
  expect_error(ErrorCode::kInvalidArgument,
               "[data] a source must be fashion-mnist, idx:DIR, npy:DIR or FILE.npz: \"mnist\"",
               [] { open_source("mnist", Part::kTrain); });
}

}  // namespace
}  // namespace lockstep
