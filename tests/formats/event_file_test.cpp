#include "lockstep/formats/event_file.h"

#include <cmath>

#include "tests/formats/format_test_util.h"

namespace lockstep {
namespace {

using namespace std::string_literals;

// What TensorBoard 2.21's tensorboard.summary.writer.RecordWriter wrote for
//   Event(wall_time=2.5, file_version="brain.Event:2")
//   Event(wall_time=1.5, step=7, summary=Summary(value=[Value(tag="loss", simple_value=0.25)]))
const Bytes kVersionRecord =
    "\x18\0\0\0\0\0\0\0\xa3\x7f\x4b\x22"
    "\x09\0\0\0\0\0\0\x04\x40\x1a\x0d"
    "brain.Event:2"
    "\xb1\x9b\xca\xec"s;
const Bytes kScalarRecord =
    "\x1a\0\0\0\0\0\0\0\x12\x9b\xd8\x2d"
    "\x09\0\0\0\0\0\0\xf8\x3f\x10\x07\x2a\x0d\x0a\x0b\x0a\x04loss\x15\0\0\x80\x3e"
    "\xc9\xd0\x7b\x8d"s;

/// Event messages of step `step` and one value, or of what stands in `rest`.
Bytes message(int step, const Bytes& rest) {
  return "\x10"s + static_cast<char>(step) + rest;
}
Bytes scalar_message(int step) {
  return message(step, "\x2a\x0a\x0a\x08\x0a\x01t\x15\0\0\x80\x3f"s);
}

std::vector<int64_t> steps(const Bytes& bytes) {
  std::vector<int64_t> steps;
  for (const ScalarEvent& event : parse_events(bytes, "t")) steps.push_back(event.step);
  return steps;
}

TEST(Crc32c, KnownSums) {
  EXPECT_EQ(crc32c(""), 0u);
  EXPECT_EQ(crc32c("123456789"), 0xe3069283u);
  // RFC 3720, B.4.
  EXPECT_EQ(crc32c(Bytes(32, '\0')), 0x8a9136aau);
  EXPECT_EQ(crc32c(Bytes(32, '\xff')), 0x62a8ab43u);
  Bytes rising;
  for (char i = 0; i < 32; ++i) rising += i;
  EXPECT_EQ(crc32c(rising), 0x46dd794eu);
}

TEST(EventFile, BytesAreTensorBoards) {
  const TemporaryFolder folder;
  const EventFile fresh = EventFile::create(folder.path());
  const Bytes version = read_file(fresh.path());
  ASSERT_EQ(version.size(), kVersionRecord.size() + 2);  // step 0 is written out
  EXPECT_NE(version.find("\x1a\x0d"
                         "brain.Event:2"),
            Bytes::npos);
  EXPECT_TRUE(parse_events(kVersionRecord, "t").empty());

  write_file_atomically(folder / "given", "");
  EventFile file = EventFile::append_to(folder / "given");
  file.add_scalar("loss", 7, 0.25f, 1.5);
  file.flush();
  EXPECT_EQ(read_file(folder / "given"), kScalarRecord);
}

TEST(EventFile, ScalarsComeBackTheSame) {
  const TemporaryFolder folder;
  EventFile file = EventFile::create(folder / "logs/train", "v2");
  file.add_scalar("epoch_loss", 0, 0.5f, 1.7e9);
  file.add_scalar("épreuve", INT64_MAX, -INFINITY, 0.1);
  EXPECT_TRUE(read_events(file.path()).empty());
  file.flush();
  file.add_scalar("", -1, NAN, -0.0);
  file.flush();
  file.flush();
  const auto events = read_events(file.path());
  ASSERT_EQ(events.size(), 3u);
  EXPECT_EQ(events[0].tag, "epoch_loss");
  EXPECT_EQ(events[0].step, 0);
  EXPECT_EQ(events[0].value, 0.5f);
  EXPECT_EQ(events[0].wall_time, 1.7e9);
  EXPECT_EQ(events[1].tag, "épreuve");
  EXPECT_EQ(events[1].step, INT64_MAX);
  EXPECT_EQ(events[1].value, -INFINITY);
  EXPECT_EQ(events[2].tag, "");
  EXPECT_EQ(events[2].step, -1);
  EXPECT_TRUE(std::isnan(events[2].value));
}

TEST(EventFile, NamesAreTensorBoardsAndNotTakenTwice) {
  const TemporaryFolder folder;
  const EventFile first = EventFile::create(folder.path(), "v2");
  const EventFile second = EventFile::create(folder.path(), "v2");
  EXPECT_NE(first.path(), second.path());
  const std::string name = first.path().filename().string();
  EXPECT_TRUE(name.starts_with("events.out.tfevents.")) << name;
  EXPECT_EQ(name.find_first_not_of("0123456789", 20), 30u) << name;
  EXPECT_TRUE(name.ends_with(".v2")) << name;
  EXPECT_LT(first.path(), second.path());
}

TEST(EventFile, FailuresNameThePath) {
  const TemporaryFolder folder;
  write_file_atomically(folder / "file", "");
  expect_error(ErrorCode::kInvalidArgument, "file] the folder cannot be made: a file is there",
               [&] { EventFile::create(folder / "file/logs"); });
  expect_error(ErrorCode::kInvalidArgument, "cannot be created: No such file or directory",
               [&] { EventFile::create(folder.path(), "no/folder"); });
  expect_error(ErrorCode::kNotFound, "none] cannot be read",
               [&] { EventFile::append_to(folder / "none"); });
  EventFile file = EventFile::create(folder.path());
  std::filesystem::remove(file.path());
  expect_error(ErrorCode::kNotFound, "cannot be opened: No such file or directory",
               [&] { file.flush(); });
}

TEST(EventFile, FailedFlushIsTriedAgain) {
  const TemporaryFolder folder;
  EventFile file = EventFile::create(folder.path());
  const Bytes before = read_file(file.path());
  file.add_scalar("loss", 7, 0.25f, 1.5);
  {
    const FileSizeLimit limit(before.size() + 10);
    expect_error(ErrorCode::kInvalidArgument, "cannot be written: File too large",
                 [&] { file.flush(); });
  }
  EXPECT_EQ(read_file(file.path()), before);
  file.flush();
  EXPECT_EQ(read_file(file.path()), before + kScalarRecord);
}

TEST(EventFile, TornEndsAreDroppedAndWrittenOver) {
  const TemporaryFolder folder;
  const auto path = folder / "torn";
  for (size_t kept = 0; kept < kScalarRecord.size(); ++kept) {
    const Bytes torn = kVersionRecord + kScalarRecord + kScalarRecord.substr(0, kept);
    EXPECT_EQ(steps(torn).size(), 1u) << kept;
    write_file_atomically(path, torn);
    EventFile file = EventFile::append_to(path);
    file.add_scalar("loss", 7, 0.25f, 1.5);
    file.flush();
    EXPECT_EQ(read_file(path), kVersionRecord + kScalarRecord + kScalarRecord) << kept;
  }
}

TEST(Events, DamageIsFoundWhereverItIs) {
  const Bytes bytes = kVersionRecord + kScalarRecord;
  for (size_t i = 0; i < bytes.size(); ++i) {
    Bytes damaged = bytes;
    damaged[i] = static_cast<char>(damaged[i] ^ 0x10);
    const bool is_second = i >= kVersionRecord.size();
    const size_t in_record = is_second ? i - kVersionRecord.size() : i;
    expect_error(
        ErrorCode::kDataLoss,
        fmt::format("[t] the checksum of a record's {} must be right (byte {})",
                    in_record < 12 ? "length" : "data", is_second ? kVersionRecord.size() : 0),
        [&] { parse_events(damaged, "t"); });
  }
}

TEST(Events, HostileLengthsTakeNoMemory) {
  // Lengths whose checksum is right: the record is longer than the file, so it counts as torn.
  for (const uint64_t length : {uint64_t{27}, uint64_t{1} << 40, UINT64_MAX - 15, UINT64_MAX}) {
    Bytes head;
    for (int i = 0; i < 8; ++i) head += static_cast<char>(length >> 8 * i & 255);
    const uint32_t crc = crc32c(head), masked = (crc >> 15 | crc << 17) + 0xa282ead8u;
    for (int i = 0; i < 4; ++i) head += static_cast<char>(masked >> 8 * i & 255);
    EXPECT_TRUE(parse_events(head + kScalarRecord.substr(12), "t").empty()) << length;
  }
}

TEST(Events, MessagesThatAreNoEventsAreRefused) {
  const auto refuse = [](const Bytes& data, const char* rule) {
    expect_error(
        ErrorCode::kDataLoss,
        fmt::format("[t] records must hold TensorFlow events: {} (record at byte 40)", rule),
        [&] { parse_events(kVersionRecord + event_record(data), "t"); });
  };
  refuse("\x09\1\2\3", "a field longer than its message");
  refuse("\x15\1\2", "a field longer than its message");
  refuse("\x2a\x05\x0a", "a field longer than its message");
  refuse("\x2a\xff\xff\xff\xff\xff\xff\xff\xff\xff\x01", "a field longer than its message");
  refuse("\x2a\x02\x0a\x01", "a field longer than its message");
  refuse("\x10\x80", "a field longer than its message");
  refuse("\x10"s + Bytes(10, '\x80') + "\x01", "a number of more than ten bytes");
  refuse("\0\0"s, "a field's number out of range");
  refuse("\xf8\xff\xff\xff\xff\x01\0"s, "a field's number out of range");
  refuse("\x0b", "a field of an unknown kind");
}

TEST(Events, OtherContentIsPassedOver) {
  const Bytes graph = message(1, "\x22\x02gg");
  const Bytes histogram = message(2, "\x2a\x08\x0a\x06\x0a\x01h\x2a\x01x");
  const Bytes unknown = message(3, "\x78\x01\x7d\1\2\3\4\x79\1\2\3\4\5\6\7\x08");
  EXPECT_TRUE(parse_events(event_record("") + event_record(graph) + event_record(histogram) +
                               event_record(unknown),
                           "t")
                  .empty());
  // Two summaries are one with the values of both; fields come in any order.
  const Bytes both = scalar_message(1) + "\x2a\x0a\x0a\x08\x15\0\0\0\x40\x0a\x01u\x10\x05"s;
  const auto events = parse_events(event_record(both), "t");
  ASSERT_EQ(events.size(), 2u);
  EXPECT_EQ(events[0].step, 5);
  EXPECT_EQ(events[1].tag, "u");
  EXPECT_EQ(events[1].value, 2.0f);
}

TEST(EventFile, GoesOnAfterATornRecordWhereverItIsTorn) {
  const TemporaryFolder folder;
  const auto path = folder / "events";
  const Bytes whole = kVersionRecord + kScalarRecord;
  for (size_t torn = 0; torn < kScalarRecord.size(); ++torn) {
    write_file_atomically(path, whole + kScalarRecord.substr(0, torn));
    EventFile::append_to(path);
    ASSERT_EQ(read_file(path), whole) << torn;
  }
}

TEST(EventFile, DamageIsNotCutAway) {
  const TemporaryFolder folder;
  Bytes bytes = kVersionRecord + kScalarRecord;
  bytes[20] ^= 1;
  write_file_atomically(folder / "bad", bytes);
  expect_error(ErrorCode::kDataLoss, "bad] the checksum of a record's data must be right (byte 0)",
               [&] { EventFile::append_to(folder / "bad"); });
  EXPECT_EQ(read_file(folder / "bad"), bytes);
}

}  // namespace
}  // namespace lockstep
