// Messages in protocol buffers' wire format, field by field: what little of it other people's files
// and interfaces need. Source: https://protobuf.dev/programming-guides/encoding/
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

namespace lockstep {

enum class ProtobufWire : uint32_t { kVarint = 0, kFixed64 = 1, kBytes = 2, kFixed32 = 5 };

/// Writes a message: ProtobufWriter().number(4, 2).bytes(3, inner.text()).text().
class ProtobufWriter {
 public:
  ProtobufWriter& number(uint32_t field, uint64_t value);
  ProtobufWriter& bytes(uint32_t field, std::string_view value);
  ProtobufWriter& real(uint32_t field, double value);
  ProtobufWriter& real(uint32_t field, float value);
  const std::string& text() const { return text_; }

 private:
  void key(uint32_t field, ProtobufWire wire);
  void varint(uint64_t value);
  std::string text_;
};

/// Walks the fields of one message.
class ProtobufReader {
 public:
  /// Errors say `where` the message is, the `rule` that it breaks, and `byte`, where in the whole
  /// it begins. All must outlive the reader.
  ProtobufReader(std::string_view message, std::string_view where, std::string_view rule,
                 size_t byte = 0)
      : rest_(message), where_(where), rule_(rule), byte_(byte) {}

  /// Reads the next field; false at the end of the message. Throws DataLoss.
  bool next();
  bool is(uint32_t field, ProtobufWire wire) const { return field_ == field && wire_ == wire; }
  uint64_t bits() const { return bits_; }  // of numbers
  std::string_view bytes() const { return bytes_; }
  /// The field's bytes as a message.
  ProtobufReader message() const { return ProtobufReader(bytes_, where_, rule_, byte_); }

 private:
  [[noreturn]] void bad(const char* what) const;
  std::string_view take(uint64_t size);
  uint64_t fixed(size_t size);
  uint64_t varint();

  std::string_view rest_, where_, rule_;
  size_t byte_;
  uint32_t field_ = 0;
  ProtobufWire wire_ = ProtobufWire::kVarint;
  uint64_t bits_ = 0;
  std::string_view bytes_;
};

}  // namespace lockstep
