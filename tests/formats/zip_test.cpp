#include "lockstep/formats/zip.h"

#include <zlib.h>

#include "tests/formats/format_test_util.h"

namespace lockstep {
namespace {

Bytes archive_of(std::initializer_list<std::pair<const char*, const char*>> members) {
  ZipWriter writer;
  for (const auto& [name, content] : members) writer.add(name, content);
  return writer.finish();
}

void put(Bytes& out, uint64_t value, int size) {
  for (int i = 0; i < size; ++i) out += static_cast<char>(value >> 8 * i & 255);
}

/// What an archive says of a member, byte by byte: also what no writer would say.
struct RawMember {
  Bytes name, packed;
  uint32_t method = 0, crc = 0, size = 0;
};

void put_fields(Bytes& out, const RawMember& member) {
  put(out, 20, 2), put(out, 0, 2), put(out, member.method, 2), put(out, 0x00210000, 4);
  put(out, member.crc, 4), put(out, static_cast<uint32_t>(member.packed.size()), 4);
  put(out, member.size, 4), put(out, static_cast<uint32_t>(member.name.size()), 2), put(out, 0, 2);
}

Bytes raw_archive(const std::vector<RawMember>& members) {
  Bytes out, directory;
  for (const RawMember& member : members) {
    put(directory, 0x02014b50, 4), put(directory, 20, 2), put_fields(directory, member);
    put(directory, 0, 6), put(directory, 0, 4),
        put(directory, static_cast<uint32_t>(out.size()), 4);
    directory += member.name;
    put(out, 0x04034b50, 4), put_fields(out, member);
    out += member.name + member.packed;
  }
  const auto start = static_cast<uint32_t>(out.size()),
             count = static_cast<uint32_t>(members.size());
  out += directory;
  put(out, 0x06054b50, 4), put(out, 0, 4), put(out, count, 2), put(out, count, 2);
  put(out, static_cast<uint32_t>(directory.size()), 4), put(out, start, 4), put(out, 0, 2);
  return out;
}

uint32_t crc_of(const Bytes& bytes) {
  return static_cast<uint32_t>(
      ::crc32(0, reinterpret_cast<const Bytef*>(bytes.data()), static_cast<uInt>(bytes.size())));
}

RawMember stored(const Bytes& name, const Bytes& content) {
  return {name, content, 0, crc_of(content), static_cast<uint32_t>(content.size())};
}

Bytes deflated(const Bytes& content) {
  z_stream stream{};
  EXPECT_EQ(deflateInit2(&stream, 9, Z_DEFLATED, -15, 8, Z_DEFAULT_STRATEGY), Z_OK);
  Bytes packed(deflateBound(&stream, content.size()), '\0');
  stream.next_in = reinterpret_cast<Bytef*>(const_cast<char*>(content.data()));
  stream.avail_in = static_cast<uInt>(content.size());
  stream.next_out = reinterpret_cast<Bytef*>(packed.data());
  stream.avail_out = static_cast<uInt>(packed.size());
  EXPECT_EQ(deflate(&stream, Z_FINISH), Z_STREAM_END);
  packed.resize(stream.total_out);
  deflateEnd(&stream);
  return packed;
}

TEST(Zip, MembersComeBackInOrder) {
  const ZipReader reader(archive_of({{"b/c", "one"}, {"a", ""}, {"\xc3\xa9", "two"}}), "t");
  ASSERT_EQ(reader.members().size(), 3u);
  EXPECT_EQ(reader.members()[0].name, "b/c");
  EXPECT_EQ(reader.members()[0].size_bytes, 3u);
  EXPECT_EQ(reader.read("b/c"), "one");
  EXPECT_EQ(reader.read("a"), "");
  EXPECT_EQ(reader.read("\xc3\xa9"), "two");
  EXPECT_TRUE(reader.contains("a"));
  EXPECT_FALSE(reader.contains("b"));
}

TEST(Zip, MembersAreStoredAndEqualContentGivesEqualBytes) {
  const Bytes archive = archive_of({{"a", "some content"}});
  EXPECT_NE(archive.find("some content"), Bytes::npos);
  EXPECT_EQ(archive, archive_of({{"a", "some content"}}));
}

TEST(Zip, AnEmptyArchiveIsOne) {
  EXPECT_TRUE(ZipReader(raw_archive({}), "t").members().empty());
}

TEST(Zip, DeflatedMembersAreRead) {
  const Bytes content(1000, 'x');
  RawMember member{"a", deflated(content), 8, crc_of(content), 1000};
  EXPECT_EQ(ZipReader(raw_archive({member}), "t").read("a"), content);
}

TEST(Zip, MissingMembersAreNotFound) {
  const ZipReader reader(archive_of({{"a", "1"}}), "m.keras");
  expect_error(ErrorCode::kNotFound, "[m.keras] the archive must hold \"config.json\"",
               [&] { reader.read("config.json"); });
}

TEST(Zip, OtherFilesAreNoArchives) {
  for (const Bytes& bytes : {Bytes(), Bytes("no zip"), Bytes(100, 'P')})
    expect_error(ErrorCode::kDataLoss,
                 "[t] must be a zip archive: ", [&] { ZipReader reader(bytes, "t"); });
  const Bytes whole = archive_of({{"a", "123"}});
  for (size_t size = 0; size < whole.size(); ++size)
    expect_error(ErrorCode::kDataLoss, "[t] ",
                 [&] { ZipReader(whole.substr(0, size), "t").read("a"); });
}

TEST(Zip, AWrongChecksumNamesTheMember) {
  Bytes archive = archive_of({{"a", "12345"}});
  archive[archive.find("12345")] = '0';
  const ZipReader reader(archive, "t");
  expect_error(ErrorCode::kDataLoss, "[t] member \"a\" is damaged: CRC error",
               [&] { reader.read("a"); });
}

TEST(Zip, AMemberOfAnotherLengthIsDamaged) {
  const Bytes content(1000, 'x');
  const RawMember longer{"a", deflated(content), 8, crc_of(content), 999};
  const RawMember shorter{"a", deflated(content), 8, crc_of(content), 1001};
  for (const RawMember& member : {longer, shorter}) {
    const ZipReader reader(raw_archive({member}), "t");
    expect_error(ErrorCode::kDataLoss, "[t] member \"a\" is damaged: ", [&] { reader.read("a"); });
  }
}

TEST(Zip, UnknownMethodsAreDamage) {
  RawMember member = stored("a", "123");
  member.method = 77;
  const ZipReader reader(raw_archive({member}), "t");
  expect_error(ErrorCode::kDataLoss,
               "[t] member \"a\" is damaged: Compression method not supported",
               [&] { reader.read("a"); });
}

TEST(Zip, BombsAreRefusedBeforeUnpacking) {
  RawMember member = stored("a", "123");
  member.method = 8, member.size = 0xfffffff0u;
  expect_error(ErrorCode::kDataLoss,
               "[t] members must unpack to at most 1024000 bytes: \"a\" claims 4294967280",
               [&] { ZipReader reader(raw_archive({member}), "t"); });
  member.size = 600'000;
  RawMember second = member;
  second.name = "b";
  expect_error(ErrorCode::kDataLoss, "\"b\" claims 600000", [&] {
    ZipReader reader(raw_archive({member, second}), "t");
  });
}

TEST(Zip, NamesStayInsideTheFolder) {
  for (const char* name : {"/etc/passwd", "../x", "a/../../x", "a/..", "a\\b", "c:x"})
    expect_error(ErrorCode::kDataLoss, "[t] member names must be plain relative paths: \"",
                 [&] { ZipReader reader(raw_archive({stored(name, "1")}), "t"); });
  EXPECT_TRUE(ZipReader(raw_archive({stored("a..b/...", "1")}), "t").contains("a..b/..."));
}

TEST(Zip, NamesDiffer) {
  expect_error(ErrorCode::kDataLoss, "[t] must be a zip archive: File already exists", [] {
    ZipReader reader(raw_archive({stored("a", "1"), stored("a", "2")}), "t");
  });
  ZipWriter writer;
  writer.add("a", "1");
  expect_error(ErrorCode::kInvalidArgument, "[zip] member names must differ: \"a\" comes twice",
               [&] { writer.add("a", "2"); });
}

}  // namespace
}  // namespace lockstep
