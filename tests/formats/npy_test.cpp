#include "lockstep/formats/npy.h"

#include <cmath>

#include "tests/formats/format_test_util.h"

namespace lockstep {
namespace {

Bytes npy(const Bytes& header, const Bytes& data, char version = 1) {
  Bytes bytes = Bytes("\x93NUMPY") + version + '\0';
  for (int i = 0; i < (version == 1 ? 2 : 4); ++i)
    bytes += static_cast<char>(header.size() >> 8 * i & 255);
  return bytes + header + data;
}

Bytes npy_of(const char* descriptor, const char* shape, const Bytes& data,
             const char* order = "False") {
  return npy(fmt::format("{{'descr': '{}', 'fortran_order': {}, 'shape': {}, }}\n", descriptor,
                         order, shape),
             data);
}

template <class T>
void expect_values(const HostTensor& tensor, const Shape& shape, std::initializer_list<T> values) {
  EXPECT_TRUE(tensor.same_bits(HostTensor::of<T>(shape, values))) << tensor.type().str();
}

template <class T>
void expect_round_trip(const Shape& shape, std::initializer_list<T> values) {
  const HostTensor tensor = HostTensor::of<T>(shape, values);
  EXPECT_TRUE(parse_npy(write_npy(tensor), "t").same_bits(tensor)) << tensor.type().str();
}

TEST(Npy, EveryTypeOfOursComesBackTheSame) {
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

TEST(Npy, WrittenHeadersAreNumPys) {
  // np.lib.format.write_array, version 1.0: the data begins at a multiple of 64.
  const Bytes bytes = write_npy(HostTensor::of<float>({2, 3}, {1, 2, 3, 4, 5, 6}));
  EXPECT_EQ(bytes.substr(0, 10), Bytes("\x93NUMPY\x01\0\x76\0", 10));
  EXPECT_EQ(bytes.substr(10, 59), "{'descr': '<f4', 'fortran_order': False, 'shape': (2, 3), }");
  EXPECT_EQ(bytes[127], '\n');
  EXPECT_EQ(bytes.size(), 128u + 24);
  EXPECT_NE(write_npy(HostTensor::of<float>({1}, {1})).find("'shape': (1,), }"), Bytes::npos);
  EXPECT_NE(write_npy(HostTensor::scalar(1.0f)).find("'shape': (), }"), Bytes::npos);
}

TEST(Npy, SmallTypesAreWidened) {
  expect_values<int32_t>(parse_npy(npy_of("|i1", "(2,)", "\x80\x7f"), "t"), {2}, {-128, 127});
  expect_values<int32_t>(parse_npy(npy_of("<i2", "(1,)", Bytes("\x00\x80", 2)), "t"), {1},
                         {-32768});
  expect_values<int64_t>(parse_npy(npy_of("<u8", "()", Bytes("\xff\0\0\0\0\0\0\x7f", 8)), "t"), {},
                         {0x7f000000000000ff});
  expect_values<bool>(parse_npy(npy_of("|b1", "(2,)", Bytes("\x02\x00", 2)), "t"), {2},
                      {true, false});
}

TEST(Npy, HalvesBecomeFloats) {
  const Bytes halves("\x00\x3c\x00\xc0\x01\x00\xff\x7b\x00\x7c\x00\x80\xff\x03\x00\x04", 16);
  expect_values<float>(parse_npy(npy_of("<f2", "(8,)", halves), "t"), {8},
                       {1, -2, 0x1p-24f, 65504, INFINITY, -0.0f, 0x1.ff8p-15f, 0x1p-14f});
  EXPECT_TRUE(std::isnan(parse_npy(npy_of("<f2", "()", "\x01\x7c"), "t").data<float>()[0]));
}

TEST(Npy, BigEndianIsSwapped) {
  expect_values<int32_t>(parse_npy(npy_of(">i4", "(1,)", Bytes("\0\0\1\2", 4)), "t"), {1}, {258});
  expect_values<float>(parse_npy(npy_of(">f4", "()", Bytes("\x3f\x80\0\0", 4)), "t"), {}, {1});
  expect_values<float>(parse_npy(npy_of(">f2", "()", Bytes("\x3c\0", 2)), "t"), {}, {1});
}

TEST(Npy, FortranOrderIsTurned) {
  expect_values<uint8_t>(parse_npy(npy_of("|u1", "(2, 3)", "adbecf", "True"), "t"), {2, 3},
                         {'a', 'b', 'c', 'd', 'e', 'f'});
  expect_values<uint8_t>(parse_npy(npy_of("|u1", "(2, 1, 2)", "acbd", "True"), "t"), {2, 1, 2},
                         {'a', 'b', 'c', 'd'});
}

TEST(Npy, VersionsAndSpellingsOfHeaders) {
  const Bytes header = "{\"shape\": (2L,), 'descr':'=u1' , 'fortran_order':False}   \n";
  for (const char version : {1, 2, 3})
    expect_values<uint8_t>(parse_npy(npy(header, "ab", version), "t"), {2}, {'a', 'b'});
}

TEST(Npy, HeaderAloneTellsTheType) {
  const NpyHeader header = parse_npy_header(npy_of(">f2", "(7, 1000000)", ""), "t");
  EXPECT_EQ(header.type.str(), "f32[7,1000000]");
  EXPECT_EQ(header.descriptor, ">f2");
}

TEST(Npy, DamagedHeadersNameTheRule) {
  const auto refuse = [](const Bytes& bytes, const char* message) {
    expect_error(ErrorCode::kDataLoss, message, [&] { parse_npy(bytes, "x.npy"); });
  };
  refuse("", "[x.npy] must begin with NumPy's magic bytes");
  refuse(npy("", "", 4), "[x.npy] .npy version must be 1, 2 or 3: 4");
  refuse(Bytes("\x93NUMPY\2\0\1\0", 10), "[x.npy] the .npy header ends early");
  refuse(Bytes("\x93NUMPY\1\0\xff\xff", 10), "the .npy header claims 65535 bytes, 0 are there");
  refuse(npy("{}", ""), "descr, fortran_order or shape missing");
  refuse(npy("{'x': 1}", ""), "an unknown key \"x\"");
  refuse(npy("{'descr': '<f4', 'descr': '<f4'}", ""), "the key \"descr\" twice");
  refuse(npy("{'descr' '<f4'}", ""), "':' expected (byte 9)");
  refuse(npy("{'descr': '<f4' 'shape': ()}", ""), "'}' expected");
  refuse(npy("{'descr': 4}", ""), "a string expected");
  refuse(npy("{'descr': '<f4", ""), "a string without end");
  refuse(npy("{'fortran_order': 0}", ""), "True or False expected");
  refuse(npy("{'shape': (-1,)}", ""), "a tuple of at most 32 extents expected");
  refuse(npy("{'shape': (1 2)}", ""), "')' expected");
  refuse(npy("{'shape': (1,", ""), "it ends early");
  refuse(npy_of("|u1", "()", "").substr(0, 40), "the .npy header claims");
  refuse(npy("{'descr': '|u1', 'fortran_order': False, 'shape': ()} import os", "a"),
         "nothing may follow the dictionary");
}

TEST(Npy, SizesAreComparedBeforeMemoryIsTaken) {
  const auto refuse = [](const char* shape, const char* message) {
    expect_error(ErrorCode::kDataLoss, message,
                 [&] { parse_npy(npy_of("<f4", shape, "12345678"), "t"); });
  };
  refuse("(3,)", "an array of <f4 [3] needs 12 bytes of data: 8 are there");
  refuse("(1,)", "needs 4 bytes of data: 8 are there");
  refuse("(4294967296,)", "needs 17179869184 bytes of data: 8 are there");
  refuse("(4294967296, 4294967296)",
         "[t] an array of [4294967296,4294967296] is larger than any file");
  refuse("(0, 4294967296, 4294967296)", "is larger than any file");
  refuse("(0, 7)", "needs 0 bytes of data: 8 are there");
  refuse("(99999999999999999999,)", "a tuple of at most 32 extents expected");
}

TEST(Npy, CodeAndForeignTypesAreRefused) {
  const auto refuse = [](const Bytes& bytes, const char* message) {
    expect_error(ErrorCode::kUnsupported, message, [&] { parse_npy(bytes, "t"); });
  };
  refuse(npy_of("|O", "()", "c"), "[t] object arrays are pickled code, which is never run");
  refuse(npy_of("<c8", "()", "12345678"), "arrays of \"<c8\" are not supported");
  refuse(npy_of("<U3", "()", ""), "arrays of \"<U3\" are not supported");
  refuse(npy_of("<f16", "()", ""), "arrays of \"<f16\" are not supported");
  refuse(npy_of("f4", "()", "1234"), "arrays of \"f4\" are not supported");
  refuse(npy("{'descr': [('a', '<f4')], }", ""), "structured arrays are not supported");
  refuse(npy_of("<u8", "(2,)", Bytes(8, '\0') + Bytes(8, '\xff')),
         "unsigned integers must be below 2^63: element 1");
}

TEST(Npz, ArraysComeBackByName) {
  const HostTensor a = HostTensor::of<float>({2}, {1, 2}), b = HostTensor::scalar<int64_t>(3);
  const NpzFile file(write_npz({{"x_train", a}, {"deep/b", b}}), "t");
  EXPECT_EQ(file.names(), (std::vector<std::string>{"x_train", "deep/b"}));
  EXPECT_TRUE(file.contains("x_train"));
  EXPECT_FALSE(file.contains("x"));
  EXPECT_TRUE(file.read("x_train").same_bits(a));
  EXPECT_TRUE(file.read("deep/b").same_bits(b));
}

TEST(Npz, ErrorsNameArchiveAndArray) {
  ZipWriter zip;
  zip.add("bad.npy", "junk");
  const Bytes archive = zip.finish();
  const NpzFile file(archive, "d.npz");
  expect_error(ErrorCode::kDataLoss, "[d.npz: bad] must begin with NumPy's magic bytes",
               [&] { file.read("bad"); });
  expect_error(ErrorCode::kNotFound, "[d.npz] the archive must hold \"none.npy\"",
               [&] { file.read("none"); });
  zip.add("readme.txt", "");
  const NpzFile mixed(zip.finish(), "d.npz");
  expect_error(ErrorCode::kDataLoss, "members of an .npz must be .npy files: \"readme.txt\"",
               [&] { mixed.names(); });
}

}  // namespace
}  // namespace lockstep
