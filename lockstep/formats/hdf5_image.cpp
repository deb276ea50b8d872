#include "lockstep/formats/hdf5_image.h"

#include <fmt/format.h>

namespace lockstep {
namespace {

constexpr size_t kSmallestFile = 96;
constexpr std::string_view kHeapSignature = "GCOL\x01";
constexpr size_t kHeapHeader = 16;    // signature, version, reserved, size
constexpr size_t kObjectHeader = 16;  // index, references, reserved, size

uint64_t little_endian(std::string_view bytes, size_t at, size_t count) {
  uint64_t value = 0;
  for (size_t i = count; i-- > 0;) value = value << 8 | static_cast<unsigned char>(bytes[at + i]);
  return value;
}

/// The whole of the global heap at `address`.
std::optional<std::string_view> heap_at(std::string_view bytes, uint64_t address) {
  if (address > bytes.size() || bytes.size() - address < kHeapHeader) return std::nullopt;
  const std::string_view rest = bytes.substr(address);
  const uint64_t size = little_endian(rest, 8, 8);
  if (!rest.starts_with(kHeapSignature) || size < kHeapHeader || size > rest.size())
    return std::nullopt;
  return rest.substr(0, size);
}

/// Content of an object of a heap; free space (index 0) is none.
std::optional<std::string_view> object_of(std::string_view heap, uint32_t index) {
  size_t at = kHeapHeader;
  while (heap.size() - at >= kObjectHeader) {
    const uint64_t found = little_endian(heap, at, 2), size = little_endian(heap, at + 8, 8);
    if (found == 0 || size > heap.size() - at - kObjectHeader) return std::nullopt;
    if (found == index) return heap.substr(at + kObjectHeader, size);
    const uint64_t taken = kObjectHeader + (size + 7) / 8 * 8;
    if (taken > heap.size() - at) return std::nullopt;
    at += taken;
  }
  return std::nullopt;
}

}  // namespace

std::string hdf5_superblock_flaw(std::string_view bytes) {
  constexpr std::string_view kSignature("\x89HDF\r\n\x1a\n", 8);
  if (!bytes.starts_with(kSignature)) return "must begin with HDF5's signature";
  if (bytes.size() < kSmallestFile) return "is too short for an HDF5 file";
  const uint64_t version = little_endian(bytes, 8, 1);
  if (version > 3) return fmt::format("HDF5 superblock version must be 0 to 3: {}", version);
  const size_t widths = version < 2 ? 13 : 9, base = version == 0 ? 24 : version == 1 ? 28 : 12;
  if (bytes.substr(widths, 2) != "\x08\x08") return "HDF5 addresses and lengths must have 8 bytes";
  if (little_endian(bytes, base, 8) != 0) return "the HDF5 data must begin at byte 0";
  const uint64_t end = little_endian(bytes, base + 16, 8);
  if (end != bytes.size())
    return fmt::format("must have {} bytes, as its header says: {}", end, bytes.size());
  if (version < 2 && little_endian(bytes, base + 24, 8) != UINT64_MAX)
    return "HDF5 files of several parts are not read";
  return "";
}

Hdf5TextPlace parse_hdf5_text_place(std::string_view place) {
  return {static_cast<uint32_t>(little_endian(place, 0, 4)), little_endian(place, 4, 8),
          static_cast<uint32_t>(little_endian(place, 12, 4))};
}

std::optional<std::string> hdf5_text_at(std::string_view bytes, const Hdf5TextPlace& place) {
  if (place.length == 0) return "";
  const auto heap = heap_at(bytes, place.heap);
  const auto object = heap ? object_of(*heap, place.index) : std::nullopt;
  if (!object || place.length > object->size()) return std::nullopt;
  const std::string_view text = object->substr(0, place.length);
  return std::string(text.substr(0, text.find('\0')));
}

}  // namespace lockstep
