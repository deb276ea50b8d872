#include "lockstep/formats/hdf5.h"

#include <algorithm>
#include <cmath>
#include <thread>

#include "tests/formats/format_test_util.h"

namespace lockstep {
namespace {

Bytes sample() {
  Hdf5Writer writer;
  writer.add_dataset("layers/dense/vars/1", HostTensor::of<float>({3}, {1, 2, 3}));
  writer.add_dataset("layers/dense/vars/0", HostTensor::of<float>({2, 3}, {1, 2, 3, 4, 5, 6}));
  writer.add_dataset("steps", HostTensor::scalar<int64_t>(7));
  writer.add_group("vars");
  writer.add_text_attribute("layers/dense/vars", "name", "d\xc3\xa9nse");
  writer.add_text_attribute("", "keras_version", "3.15.1");
  return writer.finish();
}

Bytes patched(Bytes bytes, size_t at, const Bytes& patch) {
  return bytes.replace(at, patch.size(), patch);
}

TEST(Hdf5, GroupsDatasetsAndTextsComeBack) {
  const Hdf5Reader reader(sample(), "t");
  EXPECT_EQ(reader.list(""), (std::vector<std::string>{"layers", "steps", "vars"}));
  EXPECT_EQ(reader.list("layers/dense/vars"), (std::vector<std::string>{"0", "1"}));
  EXPECT_TRUE(reader.list("vars").empty());
  EXPECT_TRUE(reader.has_group("") && reader.has_group("layers/dense"));
  EXPECT_FALSE(reader.has_group("steps") || reader.has_group("none/deeper") ||
               reader.has_group("steps/deeper"));
  EXPECT_TRUE(reader.has_dataset("layers/dense/vars/0"));
  EXPECT_FALSE(reader.has_dataset("layers") || reader.has_dataset("layers/dense/vars/2"));
  EXPECT_TRUE(reader.read("layers/dense/vars/0")
                  .same_bits(HostTensor::of<float>({2, 3}, {1, 2, 3, 4, 5, 6})));
  EXPECT_TRUE(reader.read("steps").same_bits(HostTensor::scalar<int64_t>(7)));
  EXPECT_EQ(reader.text_attribute("layers/dense/vars", "name"), "d\xc3\xa9nse");
  EXPECT_EQ(reader.text_attribute("", "keras_version"), "3.15.1");
  EXPECT_EQ(reader.text_attribute("layers", "name"), std::nullopt);
  EXPECT_EQ(reader.text_attribute("none", "name"), std::nullopt);
}

template <class T>
void expect_round_trip(const Shape& shape, std::initializer_list<T> values) {
  Hdf5Writer writer;
  const HostTensor tensor = HostTensor::of<T>(shape, values);
  writer.add_dataset("x", tensor);
  EXPECT_TRUE(Hdf5Reader(writer.finish(), "t").read("x").same_bits(tensor)) << tensor.type().str();
}

TEST(Hdf5, EveryTypeOfOursComesBackTheSame) {
  expect_round_trip<float>({2, 2}, {1, -0.0f, INFINITY, 1e-40f});
  expect_round_trip<double>({1}, {0.1});
  expect_round_trip<int32_t>({3, 1}, {1, -2, INT32_MIN});
  expect_round_trip<int64_t>({}, {INT64_MIN});
  expect_round_trip<uint8_t>({2}, {0, 255});
  expect_round_trip<uint16_t>({1}, {65535});
  expect_round_trip<uint32_t>({1}, {UINT32_MAX});
  expect_round_trip<bool>({2}, {true, false});
  expect_round_trip<float>({0, 3}, {});
}

TEST(Hdf5, EqualContentGivesEqualBytes) {
  const Bytes first = sample();
  std::this_thread::sleep_for(std::chrono::milliseconds(1100));  // times in HDF5 count seconds
  EXPECT_EQ(sample(), first);
}

TEST(Hdf5, LongTextsAndManyObjects) {
  Hdf5Writer writer;
  const std::string text(200'000, 'j');
  writer.add_text_attribute("", "model_config", text);
  for (int i = 0; i < 300; ++i) writer.add_dataset(fmt::format("g/{}", i), HostTensor::scalar(i));
  const Hdf5Reader reader(writer.finish(), "t");
  EXPECT_EQ(reader.text_attribute("", "model_config"), text);
  const auto names = reader.list("g");
  EXPECT_EQ(names.size(), 300u);
  EXPECT_TRUE(std::is_sorted(names.begin(), names.end()));
  EXPECT_EQ(reader.read("g/299").data<int32_t>()[0], 299);
}

TEST(Hdf5, BFloat16IsMarkedByAnAttribute) {
  Hdf5Writer writer;
  writer.add_dataset("x", HostTensor::of<uint16_t>({2}, {0x3f80, 0xc000}));
  writer.add_text_attribute("x", "dtype", "bfloat16");
  EXPECT_TRUE(
      Hdf5Reader(writer.finish(), "t").read("x").same_bits(HostTensor::of<float>({2}, {1, -2})));
}

TEST(Hdf5, MissingObjectsAreNotFound) {
  const Hdf5Reader reader(sample(), "w.h5");
  expect_error(ErrorCode::kNotFound, "[w.h5] dataset \"layers/x\" must be there",
               [&] { reader.read("layers/x"); });
  expect_error(ErrorCode::kNotFound, "[w.h5] dataset \"layers\" must be there",
               [&] { reader.read("layers"); });
  expect_error(ErrorCode::kNotFound, "[w.h5] group \"steps\" must be there",
               [&] { reader.list("steps"); });
}

TEST(Hdf5, SuperblocksAreCheckedBeforeAnythingElse) {
  const auto refuse = [](Bytes bytes, const char* message) {
    expect_error(ErrorCode::kDataLoss, message, [&] { Hdf5Reader reader(std::move(bytes), "t"); });
  };
  const Bytes good = sample();
  refuse("", "[t] must begin with HDF5's signature");
  refuse(good.substr(0, 50), "[t] is too short for an HDF5 file");
  refuse(good.substr(0, good.size() - 1),
         fmt::format("[t] must have {} bytes, as its header says: {}", good.size(), good.size() - 1)
             .c_str());
  refuse(good + "x", "as its header says");
  refuse(patched(good, 8, "\x04"), "HDF5 superblock version must be 0 to 3: 4");
  refuse(patched(good, 13, "\x04"), "HDF5 addresses and lengths must have 8 bytes");
  refuse(patched(good, 24, "\x01"), "the HDF5 data must begin at byte 0");
  refuse(patched(good, 48, Bytes(1, '\0')), "HDF5 files of several parts are not read");
  refuse(patched(good, 9, "\x09"), "must be a sound HDF5 file: libhdf5 cannot open it");
}

TEST(Hdf5, DamagedHeapsLoseTheirTextsAlone) {
  const Bytes good = sample();
  const size_t heap = good.find("GCOL");
  ASSERT_NE(heap, Bytes::npos);
  // libhdf5 1.10 itself would hang on the first three.
  for (const auto& [at, patch] :
       {std::pair{heap + 24, Bytes(8, '\xff')},  // the first object's size wraps around
        std::pair{heap + 24, Bytes(3, '\xff')},  // or is larger than the heap
        std::pair{heap + 16, Bytes(16, '\0')},   // or nothing, of free space
        std::pair{heap + 8, Bytes(8, '\0')},     // the heap's own size is nothing
        std::pair{heap + 8, Bytes(8, '\xff')},   // or beyond the file
        std::pair{heap, Bytes("gcol")}}) {
    const Hdf5Reader reader(patched(good, at, patch), "t");
    expect_error(ErrorCode::kDataLoss,
                 "[t] attribute \"name\" of \"layers/dense/vars\" cannot be read",
                 [&] { reader.text_attribute("layers/dense/vars", "name"); });
    EXPECT_EQ(reader.read("steps").data<int64_t>()[0], 7);
  }
}

TEST(Hdf5, TextsOfUnknownPlacesAreDamage) {
  const Bytes good = sample();
  Bytes place(16, '\0');
  place[0] = 6;  // the length of "3.15.1"
  for (size_t i = 0; i < 8; ++i) place[4 + i] = static_cast<char>(good.find("GCOL") >> 8 * i & 255);
  const size_t at = good.find(place.substr(0, 12));
  ASSERT_NE(at, Bytes::npos);
  for (const auto& [offset, patch] :
       {std::pair{size_t{12}, Bytes("\xff\xff\xff\x7f")}, std::pair{size_t{4}, Bytes(8, '\xff')},
        std::pair{size_t{4}, Bytes(1, '\x01')}, std::pair{size_t{2}, Bytes(1, '\x7f')}}) {
    const Bytes bad = patched(good, at + offset, patch);
    const auto read = [&] {
      return Hdf5Reader(bad, "t").text_attribute("", "keras_version").value_or("");
    };
    expect_error(ErrorCode::kDataLoss, "[t] attribute \"keras_version\" of \"\" cannot be read",
                 [&] { read(); });
  }
}

TEST(Hdf5, DamagedInsidesAreErrorsNotCrashes) {
  // Every byte of a small file turned over, one at a time: an error or an answer.
  const Bytes good = sample();
  for (size_t at = 0; at < good.size(); ++at) {
    if (good[at] == 0 && at % 16 != 0) continue;
    Bytes bad = good;
    bad[at] = static_cast<char>(~bad[at]);
    try {
      const Hdf5Reader reader(bad, "t");
      reader.list("layers/dense/vars");
      reader.text_attribute("layers/dense/vars", "name");
      reader.read("layers/dense/vars/0");
    } catch (const Error& error) {
      EXPECT_NE(std::string(error.what()).find("[t] "), std::string::npos) << error.what();
    }
  }
}

TEST(Hdf5, WritersRefuseWhatNoFileCanHold) {
  const HostTensor one = HostTensor::scalar(1.0f);
  Hdf5Writer twice;
  twice.add_dataset("a", one);
  expect_error(ErrorCode::kInvalidArgument, "[hdf5] paths must differ: \"a\" comes twice",
               [&] { twice.add_dataset("a", one); });
  twice.add_dataset("a/b", one);
  expect_error(ErrorCode::kInvalidArgument,
               "\"a\" must be a group to hold \"a/b\": it is a dataset", [&] { twice.finish(); });
  Hdf5Writer lost;
  lost.add_text_attribute("g", "name", "x");
  expect_error(ErrorCode::kInvalidArgument, "\"g\" must be added to carry attributes",
               [&] { lost.finish(); });
  expect_error(ErrorCode::kInvalidArgument, "attribute \"name\" of \"g\" must hold no zero byte",
               [&] { lost.add_text_attribute("g", "name", Bytes("a\0b", 3)); });
  Hdf5Writer rank;
  rank.add_dataset("x", HostTensor(DType::kF32, Shape(Dims(33, 1))));
  expect_error(ErrorCode::kInternal, "[hdf5] dataset \"x\" cannot be written",
               [&] { rank.finish(); });
}

Bytes file_of(float value) {
  Hdf5Writer writer;
  writer.add_dataset("x", HostTensor::scalar(value));
  return writer.finish();
}

TEST(Hdf5, FilesOpenAtOnceStayApart) {
  const Hdf5Reader one(file_of(1), "one"), two(file_of(2), "two");
  EXPECT_EQ(Hdf5Reader(file_of(3), "three").read("x").data<float>()[0], 3);
  EXPECT_EQ(one.read("x").data<float>()[0], 1);
  EXPECT_EQ(two.read("x").data<float>()[0], 2);
}

TEST(Hdf5, ThreadsReadAndWriteAtOnce) {
  std::vector<std::thread> threads;
  for (int t = 0; t < 4; ++t)
    threads.emplace_back([t] {
      for (int i = 0; i < 20; ++i) {
        const auto value = static_cast<float>(100 * t + i);
        EXPECT_EQ(Hdf5Reader(file_of(value), "t").read("x").data<float>()[0], value);
      }
    });
  for (auto& thread : threads) thread.join();
}

}  // namespace
}  // namespace lockstep
