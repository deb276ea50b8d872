// Parts of an HDF5 file's bytes that we read ourselves, because libhdf5 1.10 believes them unseen:
// the superblock, and the heaps that hold texts of variable length.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace lockstep {

/// What is wrong with the superblock, as the rest of a message; "" when nothing is.
std::string hdf5_superblock_flaw(std::string_view bytes);

/// Where a file keeps one text of variable length: 16 bytes, as an attribute stores them.
struct Hdf5TextPlace {
  static constexpr size_t kBytes = 16;
  uint32_t length;
  uint64_t heap;   // address of a global heap
  uint32_t index;  // of the object in it
};
Hdf5TextPlace parse_hdf5_text_place(std::string_view place);

/// The text there, up to its first zero byte; nothing when the file is damaged at that place.
std::optional<std::string> hdf5_text_at(std::string_view bytes, const Hdf5TextPlace& place);

}  // namespace lockstep
