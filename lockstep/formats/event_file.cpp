#include "lockstep/formats/event_file.h"

#include <unistd.h>

#include <array>
#include <bit>
#include <chrono>
#include <climits>
#include <utility>

namespace lockstep {
namespace {

constexpr uint64_t kMaxFileBytes = uint64_t{1} << 30;
constexpr std::string_view kVersion = "brain.Event:2";

// Fields of tensorflow.Event, Summary and Summary.Value.
enum EventField { kWallTime = 1, kStep = 2, kFileVersion = 3, kSummary = 5 };
constexpr uint32_t kSummaryValue = 1;
enum ValueField { kTag = 1, kSimpleValue = 2 };

enum Wire { kVarint = 0, kFixed64 = 1, kBytes = 2, kFixed32 = 5 };

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

void put_varint(Bytes& out, uint64_t value) {
  for (; value > 127; value >>= 7) out += static_cast<char>(128 | (value & 127));
  out += static_cast<char>(value);
}

void put_key(Bytes& out, uint32_t field, Wire wire) {
  put_varint(out, field << 3 | wire);
}

void put_bytes(Bytes& out, uint32_t field, std::string_view bytes) {
  put_key(out, field, kBytes);
  put_varint(out, bytes.size());
  out += bytes;
}

/// The fields that every event begins with.
Bytes begin_event(double wall_time, int64_t step) {
  Bytes event;
  put_key(event, kWallTime, kFixed64);
  put_fixed(event, std::bit_cast<uint64_t>(wall_time));
  put_key(event, kStep, kVarint);
  put_varint(event, static_cast<uint64_t>(step));
  return event;
}

Bytes version_event(double wall_time) {
  Bytes event = begin_event(wall_time, 0);
  put_bytes(event, kFileVersion, kVersion);
  return event;
}

Bytes scalar_event(std::string_view tag, int64_t step, float value, double wall_time) {
  Bytes scalar, summary, event = begin_event(wall_time, step);
  put_bytes(scalar, kTag, tag);
  put_key(scalar, kSimpleValue, kFixed32);
  put_fixed(scalar, std::bit_cast<uint32_t>(value));
  put_bytes(summary, kSummaryValue, scalar);
  put_bytes(event, kSummary, summary);
  return event;
}

/// Walks the fields of one message.
class MessageReader {
 public:
  /// `where` and `record`, the byte at which its record begins, are for messages.
  MessageReader(std::string_view message, std::string_view where, size_t record)
      : rest_(message), where_(where), record_(record) {}

  /// Reads the next field; false at the end of the message.
  bool next() {
    if (rest_.empty()) return false;
    const uint64_t key = varint();
    if (key >> 3 == 0 || key > UINT32_MAX) bad("a field's number out of range");
    number_ = static_cast<uint32_t>(key >> 3);
    wire_ = static_cast<uint32_t>(key & 7);
    switch (wire_) {
      case kVarint:
        bits_ = varint();
        break;
      case kFixed64:
        bits_ = get_fixed<uint64_t>(take(8));
        break;
      case kFixed32:
        bits_ = get_fixed<uint32_t>(take(4));
        break;
      case kBytes:
        bytes_ = take(varint());
        break;
      default:
        bad("a field of an unknown kind");
    }
    return true;
  }
  bool is(uint32_t number, Wire wire) const { return number_ == number && wire_ == wire; }
  uint64_t bits() const { return bits_; }
  std::string_view bytes() const { return bytes_; }
  /// The field's bytes as a message.
  MessageReader message() const { return MessageReader(bytes_, where_, record_); }

 private:
  [[noreturn]] void bad(const char* what) const {
    fail(ErrorCode::kDataLoss, where_,
         "records must hold TensorFlow events: {} (record at byte {})", what, record_);
  }
  std::string_view take(uint64_t size) {
    if (size > rest_.size()) bad("a field longer than its message");
    const std::string_view taken = rest_.substr(0, size);
    rest_.remove_prefix(size);
    return taken;
  }
  uint64_t varint() {
    uint64_t value = 0;
    for (int shift = 0; shift < 64; shift += 7) {
      const auto byte = static_cast<unsigned char>(take(1)[0]);
      value |= static_cast<uint64_t>(byte & 127) << shift;
      if (byte < 128) return value;
    }
    bad("a number of more than ten bytes");
  }

  std::string_view rest_, where_;
  size_t record_;
  uint32_t number_ = 0, wire_ = 0;
  uint64_t bits_ = 0;
  std::string_view bytes_;
};

struct Event {
  double wall_time = 0;
  int64_t step = 0;
  std::vector<std::pair<std::string_view, float>> scalars;
};

/// Of a Summary.Value that is no scalar nothing is kept.
void add_value(MessageReader value, Event& event) {
  std::string_view tag;
  float number = 0;
  bool is_scalar = false;
  while (value.next()) {
    if (value.is(kTag, kBytes)) tag = value.bytes();
    if (!value.is(kSimpleValue, kFixed32)) continue;
    number = std::bit_cast<float>(static_cast<uint32_t>(value.bits()));
    is_scalar = true;
  }
  if (is_scalar) event.scalars.emplace_back(tag, number);
}

Event parse_event(MessageReader message) {
  Event event;
  while (message.next()) {
    if (message.is(kWallTime, kFixed64)) event.wall_time = std::bit_cast<double>(message.bits());
    if (message.is(kStep, kVarint)) event.step = static_cast<int64_t>(message.bits());
    // One of the two: the later one counts.
    if (message.is(kFileVersion, kBytes)) event.scalars.clear();
    if (!message.is(kSummary, kBytes)) continue;
    MessageReader summary = message.message();
    while (summary.next())
      if (summary.is(kSummaryValue, kBytes)) add_value(summary.message(), event);
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
    body(parse_event(MessageReader(data, where, at)));
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
