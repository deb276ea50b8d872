#include "lockstep/formats/event_file.h"

#include <unistd.h>

#include <array>
#include <bit>
#include <chrono>
#include <climits>
#include <utility>

#include "lockstep/base/protobuf.h"

namespace lockstep {
namespace {

constexpr uint64_t kMaxFileBytes = uint64_t{1} << 30;
constexpr std::string_view kVersion = "brain.Event:2";

// Fields of tensorflow.Event, Summary and Summary.Value.
enum EventField { kWallTime = 1, kStep = 2, kFileVersion = 3, kSummary = 5 };
constexpr uint32_t kSummaryValue = 1;
enum ValueField { kTag = 1, kSimpleValue = 2 };

using Wire = ProtobufWire;
constexpr std::string_view kRule = "records must hold TensorFlow events";

constexpr std::array<uint32_t, 256> make_crc_table() {
  std::array<uint32_t, 256> table{};
  for (uint32_t i = 0; i < 256; ++i) {
    uint32_t crc = i;
    for (int bit = 0; bit < 8; ++bit) crc = crc >> 1 ^ (crc & 1 ? 0x82f63b78u : 0u);
    table[i] = crc;
  }
  return table;
}

/// A CRC of data that holds CRCs is weak, so TFRecords turn and shift it.
uint32_t masked_crc(std::string_view bytes) {
  return std::rotr(crc32c(bytes), 15) + 0xa282ead8u;
}

template <class T>
void put_fixed(Bytes& out, T value) {
  for (size_t i = 0; i < sizeof(T); ++i) out += static_cast<char>(value >> 8 * i & 255);
}

template <class T>
T get_fixed(std::string_view bytes) {
  T value = 0;
  for (size_t i = 0; i < sizeof(T); ++i)
    value |= static_cast<T>(static_cast<unsigned char>(bytes[i])) << 8 * i;
  return value;
}

/// The fields that every event begins with.
ProtobufWriter begin_event(double wall_time, int64_t step) {
  return ProtobufWriter().real(kWallTime, wall_time).number(kStep, static_cast<uint64_t>(step));
}

Bytes version_event(double wall_time) {
  return begin_event(wall_time, 0).bytes(kFileVersion, kVersion).text();
}

Bytes scalar_event(std::string_view tag, int64_t step, float value, double wall_time) {
  const Bytes scalar = ProtobufWriter().bytes(kTag, tag).real(kSimpleValue, value).text();
  const Bytes summary = ProtobufWriter().bytes(kSummaryValue, scalar).text();
  return begin_event(wall_time, step).bytes(kSummary, summary).text();
}

struct Event {
  double wall_time = 0;
  int64_t step = 0;
  std::vector<std::pair<std::string_view, float>> scalars;
};

/// Of a Summary.Value that is no scalar nothing is kept.
void add_value(ProtobufReader value, Event& event) {
  std::string_view tag;
  float number = 0;
  bool is_scalar = false;
  while (value.next()) {
    if (value.is(kTag, Wire::kBytes)) tag = value.bytes();
    if (!value.is(kSimpleValue, Wire::kFixed32)) continue;
    number = std::bit_cast<float>(static_cast<uint32_t>(value.bits()));
    is_scalar = true;
  }
  if (is_scalar) event.scalars.emplace_back(tag, number);
}

Event parse_event(ProtobufReader message) {
  Event event;
  while (message.next()) {
    if (message.is(kWallTime, Wire::kFixed64))
      event.wall_time = std::bit_cast<double>(message.bits());
    if (message.is(kStep, Wire::kVarint)) event.step = static_cast<int64_t>(message.bits());
    // One of the two: the later one counts.
    if (message.is(kFileVersion, Wire::kBytes)) event.scalars.clear();
    if (!message.is(kSummary, Wire::kBytes)) continue;
    ProtobufReader summary = message.message();
    while (summary.next())
      if (summary.is(kSummaryValue, Wire::kBytes)) add_value(summary.message(), event);
  }
  return event;
}

/// Calls `body(const Event&)` for every whole record; returns where they end.
template <class Body>
size_t for_each_event(std::string_view bytes, std::string_view where, Body&& body) {
  constexpr size_t kHead = 12, kTail = 4;
  size_t at = 0;
  const auto check = [&](size_t begin, size_t size, const char* name) {
    const auto stored = get_fixed<uint32_t>(bytes.substr(begin + size));
    if (stored != masked_crc(bytes.substr(begin, size)))
      fail(ErrorCode::kDataLoss, where, "the checksum of a record's {} must be right (byte {})",
           name, at);
  };
  while (bytes.size() - at >= kHead + kTail) {
    check(at, 8, "length");
    const auto length = get_fixed<uint64_t>(bytes.substr(at));
    if (length > bytes.size() - at - kHead - kTail) break;
    check(at + kHead, length, "data");
    const std::string_view data = bytes.substr(at + kHead, length);
    body(parse_event(ProtobufReader(data, where, kRule, at)));
    at += kHead + length + kTail;
  }
  return at;
}

std::string host_name() {
  char name[HOST_NAME_MAX + 1] = {};
  return ::gethostname(name, HOST_NAME_MAX) == 0 && name[0] ? name : "localhost";
}

}  // namespace

EventFile EventFile::create(const std::filesystem::path& folder, const std::string& suffix) {
  make_folder(folder);
  const std::chrono::duration<double> now = std::chrono::system_clock::now().time_since_epoch();
  const Bytes version = event_record(version_event(now.count()));
  const std::string end = suffix.empty() ? host_name() : host_name() + "." + suffix;
  for (auto second = static_cast<int64_t>(now.count());; ++second) {
    const auto path = folder / fmt::format("events.out.tfevents.{:010}.{}", second, end);
    if (create_file(path, version)) return EventFile(path);
  }
}

EventFile EventFile::append_to(const std::filesystem::path& path) {
  const Bytes bytes = read_file(path, kMaxFileBytes);
  const size_t whole = for_each_event(bytes, path.string(), [](const Event&) {});
  if (whole < bytes.size()) cut_file(path, whole);
  return EventFile(path);
}

void EventFile::add_scalar(std::string_view tag, int64_t step, float value, double wall_time) {
  pending_ += event_record(scalar_event(tag, step, value, wall_time));
}

void EventFile::flush() {
  append_to_file(path_, pending_);
  pending_.clear();
}

std::vector<ScalarEvent> parse_events(std::string_view bytes, std::string_view where) {
  std::vector<ScalarEvent> scalars;
  for_each_event(bytes, where, [&](const Event& event) {
    for (const auto& [tag, value] : event.scalars)
      scalars.push_back({std::string(tag), event.step, value, event.wall_time});
  });
  return scalars;
}

std::vector<ScalarEvent> read_events(const std::filesystem::path& path) {
  return parse_events(read_file(path, kMaxFileBytes), path.string());
}

Bytes event_record(std::string_view data) {
  Bytes record;
  put_fixed<uint64_t>(record, data.size());
  put_fixed(record, masked_crc(record));
  record += data;
  put_fixed(record, masked_crc(data));
  return record;
}

uint32_t crc32c(std::string_view bytes) {
  static constexpr auto kTable = make_crc_table();
  uint32_t crc = ~0u;
  for (const char byte : bytes) crc = crc >> 8 ^ kTable[(crc ^ static_cast<uint8_t>(byte)) & 255];
  return ~crc;
}

}  // namespace lockstep
