#include "lockstep/data/idx.h"

#include <bit>
#include <cstring>
#include <span>

namespace lockstep {
namespace {

struct IdxHeader {
  uint8_t code;
  size_t element_bytes;  // as stored
  TensorType type;       // as delivered
  size_t data_offset;
};

/// The big-endian unsigned integer of sizeof(T) bytes at `at`.
template <class T>
T big_endian(std::string_view bytes, size_t at) {
  T value = 0;
  for (size_t i = 0; i < sizeof(T); ++i)
    value = static_cast<T>(value << 8 | static_cast<unsigned char>(bytes[at + i]));
  return value;
}

IdxHeader header_of(uint8_t code, size_t data_offset, std::string_view where) {
  switch (code) {
    case 0x08:
      return {code, 1, {DType::kU8, {}}, data_offset};
    case 0x09:
      return {code, 1, {DType::kS32, {}}, data_offset};
    case 0x0B:
      return {code, 2, {DType::kS32, {}}, data_offset};
    case 0x0C:
      return {code, 4, {DType::kS32, {}}, data_offset};
    case 0x0D:
      return {code, 4, {DType::kF32, {}}, data_offset};
    case 0x0E:
      return {code, 8, {DType::kF64, {}}, data_offset};
  }
  fail(ErrorCode::kDataLoss, where, "an IDX type must be one of 08, 09, 0B, 0C, 0D, 0E: {:02X}",
       code);
}

/// The header of a file whose data is exactly as long as it says.
IdxHeader parse_header(std::string_view bytes, std::string_view where) {
  if (bytes.size() < 4 || bytes[0] != 0 || bytes[1] != 0)
    fail(ErrorCode::kDataLoss, where, "IDX must begin with two zero bytes, type and rank");
  const auto rank = big_endian<uint8_t>(bytes, 3);
  IdxHeader header = header_of(big_endian<uint8_t>(bytes, 2), 4 + size_t{4} * rank, where);
  if (rank == 0 || bytes.size() < header.data_offset)
    fail(ErrorCode::kDataLoss, where,
         "an IDX header must hold one extent or more: rank {} in {}"
         " bytes",
         rank, bytes.size());
  const size_t data_bytes = bytes.size() - header.data_offset;
  size_t elements = 1;
  bool is_short = false;  // before the product can overflow
  for (size_t axis = 0; axis < rank; ++axis) {
    const size_t extent = big_endian<uint32_t>(bytes, 4 + 4 * axis);
    if (extent == 0)
      fail(ErrorCode::kDataLoss, where, "IDX extents must be >= 1: axis {} has 0", axis);
    header.type.shape.dims().push_back(static_cast<int64_t>(extent));
    is_short = is_short || extent > data_bytes / elements;
    if (!is_short) elements *= extent;
  }
  if (is_short || data_bytes % header.element_bytes != 0 ||
      elements != data_bytes / header.element_bytes)
    fail(ErrorCode::kDataLoss, where,
         "IDX data of shape {} needs {} bytes an element: {} bytes came", header.type.shape.str(),
         header.element_bytes, data_bytes);
  return header;
}

/// Elements stored as the bits of Stored, delivered as To.
template <class Bits, class Stored, class To>
void decode(std::string_view data, std::span<To> to) {
  for (size_t i = 0; i < to.size(); ++i)
    to[i] = static_cast<To>(std::bit_cast<Stored>(big_endian<Bits>(data, i * sizeof(Bits))));
}

}  // namespace

HostTensor parse_idx(std::string_view bytes, std::string_view where) {
  const IdxHeader header = parse_header(bytes, where);
  const std::string_view data = bytes.substr(header.data_offset);
  HostTensor tensor(header.type);
  switch (header.code) {
    case 0x08:
      std::memcpy(tensor.bytes(), data.data(), data.size());
      break;
    case 0x09:
      decode<uint8_t, int8_t>(data, tensor.data<int32_t>());
      break;
    case 0x0B:
      decode<uint16_t, int16_t>(data, tensor.data<int32_t>());
      break;
    case 0x0C:
      decode<uint32_t, int32_t>(data, tensor.data<int32_t>());
      break;
    case 0x0D:
      decode<uint32_t, float>(data, tensor.data<float>());
      break;
    case 0x0E:
      decode<uint64_t, double>(data, tensor.data<double>());
      break;
  }
  return tensor;
}

}  // namespace lockstep
