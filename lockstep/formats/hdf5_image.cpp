#include "lockstep/formats/hdf5_image.h"

#include <fmt/format.h>

namespace lockstep {
namespace {

constexpr size_t kSmallestFile = 96;
constexpr size_t kHeapHeader = 16;    // signature, version, reserved, size
constexpr size_t kObjectHeader = 16;  // index, references, reserved, size

uint64_t little_endian(std::string_view bytes, size_t at, size_t count) {
  uint64_t value = 0;
  for (size_t i = count; i-- > 0;) value = value << 8 | static_cast<unsigned char>(bytes[at + i]);
  return value;
}

std::string superblock_flaw(std::string_view bytes) {
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

/// Whether the objects of a global heap fill it. `heap` is all of it, its header included.
bool is_sound_heap(std::string_view heap) {
  size_t at = kHeapHeader;
  while (heap.size() - at >= kObjectHeader) {
    const bool is_free = little_endian(heap, at, 2) == 0;
    const uint64_t size = little_endian(heap, at + 8, 8);
    if (size > heap.size()) return false;
    const uint64_t taken = is_free ? size : kObjectHeader + (size + 7) / 8 * 8;  // free: all of it
    if (taken < kObjectHeader || taken > heap.size() - at) return false;
    at += taken;
  }
  return true;
}

/// Texts of variable length lie in global heaps, wherever in the file.
std::string heap_flaw(std::string_view bytes) {
  constexpr std::string_view kSignature = "GCOL\x01";
  for (size_t at = bytes.find(kSignature); at != std::string_view::npos;
       at = bytes.find(kSignature, at + 1)) {
    if (bytes.size() - at < kHeapHeader) break;
    const uint64_t size = little_endian(bytes, at + 8, 8);
    // A size beyond the file is refused by libhdf5 too, or this is no heap but some weights.
    if (size > bytes.size() - at) continue;
    if (size < kHeapHeader || !is_sound_heap(bytes.substr(at, size)))
      return fmt::format("the global heap at byte {} is damaged", at);
  }
  return "";
}

}  // namespace

std::string hdf5_image_flaw(std::string_view bytes) {
  const std::string flaw = superblock_flaw(bytes);
  return flaw.empty() ? heap_flaw(bytes) : flaw;
}

}  // namespace lockstep
