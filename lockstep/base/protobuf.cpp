#include "lockstep/base/protobuf.h"

#include <bit>

#include "lockstep/base/error.h"

namespace lockstep {
namespace {

template <class T>
void put_fixed(std::string& text, T value) {
  for (size_t i = 0; i < sizeof(T); ++i) text += static_cast<char>(value >> 8 * i & 255);
}

}  // namespace

// -- writing

void ProtobufWriter::key(uint32_t field, ProtobufWire wire) {
  varint(uint64_t{field} << 3 | static_cast<uint32_t>(wire));
}

void ProtobufWriter::varint(uint64_t value) {
  for (; value > 127; value >>= 7) text_ += static_cast<char>(128 | (value & 127));
  text_ += static_cast<char>(value);
}

ProtobufWriter& ProtobufWriter::number(uint32_t field, uint64_t value) {
  key(field, ProtobufWire::kVarint);
  varint(value);
  return *this;
}

ProtobufWriter& ProtobufWriter::bytes(uint32_t field, std::string_view value) {
  key(field, ProtobufWire::kBytes);
  varint(value.size());
  text_ += value;
  return *this;
}

ProtobufWriter& ProtobufWriter::real(uint32_t field, double value) {
  key(field, ProtobufWire::kFixed64);
  put_fixed(text_, std::bit_cast<uint64_t>(value));
  return *this;
}

ProtobufWriter& ProtobufWriter::real(uint32_t field, float value) {
  key(field, ProtobufWire::kFixed32);
  put_fixed(text_, std::bit_cast<uint32_t>(value));
  return *this;
}

// -- reading

bool ProtobufReader::next() {
  if (rest_.empty()) return false;
  const uint64_t key = varint();
  if (key >> 3 == 0 || key > UINT32_MAX) bad("a field's number out of range");
  field_ = static_cast<uint32_t>(key >> 3);
  wire_ = static_cast<ProtobufWire>(key & 7);
  switch (wire_) {
    case ProtobufWire::kVarint:
      bits_ = varint();
      return true;
    case ProtobufWire::kFixed64:
      bits_ = fixed(8);
      return true;
    case ProtobufWire::kFixed32:
      bits_ = fixed(4);
      return true;
    case ProtobufWire::kBytes:
      bytes_ = take(varint());
      return true;
  }
  bad("a field of an unknown kind");
}

void ProtobufReader::bad(const char* what) const {
  fail(ErrorCode::kDataLoss, where_, "{}: {} (record at byte {})", rule_, what, byte_);
}

std::string_view ProtobufReader::take(uint64_t size) {
  if (size > rest_.size()) bad("a field longer than its message");
  const std::string_view taken = rest_.substr(0, size);
  rest_.remove_prefix(size);
  return taken;
}

uint64_t ProtobufReader::fixed(size_t size) {
  const std::string_view bytes = take(size);
  uint64_t value = 0;
  for (size_t i = 0; i < size; ++i)
    value |= uint64_t{static_cast<unsigned char>(bytes[i])} << 8 * i;
  return value;
}

uint64_t ProtobufReader::varint() {
  uint64_t value = 0;
  for (int shift = 0; shift < 64; shift += 7) {
    const auto byte = static_cast<unsigned char>(take(1)[0]);
    value |= static_cast<uint64_t>(byte & 127) << shift;
    if (byte < 128) return value;
  }
  bad("a number of more than ten bytes");
}

}  // namespace lockstep
