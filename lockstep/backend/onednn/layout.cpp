#include "lockstep/backend/onednn/layout.h"

#include <algorithm>
#include <bit>
#include <cstring>
#include <oneapi/dnnl/dnnl.hpp>

namespace lockstep {
namespace {

// Pixels by groups: both sides of a tile stay in the first-level cache.
constexpr int64_t kTile = 16;

/// to[c, r] = from[r, c] for units of kBytes bytes.
template <size_t kBytes>
void transpose_units(int64_t rows, int64_t columns, const std::byte* from, std::byte* to) {
  for (int64_t r0 = 0; r0 < rows; r0 += kTile)
    for (int64_t c0 = 0; c0 < columns; c0 += kTile)
      for (int64_t c = c0; c < columns && c < c0 + kTile; ++c)
        for (int64_t r = r0; r < rows && r < r0 + kTile; ++r)
          std::memcpy(to + (c * rows + r) * static_cast<int64_t>(kBytes),
                      from + (r * columns + c) * static_cast<int64_t>(kBytes), kBytes);
}

constexpr int64_t kByteRows = 64, kByteColumns = 64;

/// Every second byte. Compilers make vectors of this loop, and not of those with longer steps.
void split_bytes(int64_t pairs, const std::byte* __restrict from, std::byte* __restrict even,
                 std::byte* __restrict odd) {
  for (int64_t i = 0; i < pairs; ++i) {
    even[i] = from[2 * i];
    odd[i] = from[2 * i + 1];
  }
}

/// transpose_units<1> of at most kByteRows rows and kByteColumns columns, which are a power of two,
/// by halving the columns; columns of the result are `step` apart.
void transpose_bytes(int64_t rows, int64_t columns, int64_t step, const std::byte* from,
                     std::byte* to) {
  if (columns == 1) {
    std::memcpy(to, from, static_cast<size_t>(rows));
    return;
  }
  if (columns == 2) {
    split_bytes(rows, from, to, to + step);
    return;
  }
  std::byte even[kByteRows * kByteColumns / 2], odd[kByteRows * kByteColumns / 2];
  split_bytes(rows * columns / 2, from, even, odd);
  transpose_bytes(rows, columns / 2, 2 * step, even, to);
  transpose_bytes(rows, columns / 2, 2 * step, odd, to + step);
}

void transpose(size_t unit, int64_t rows, int64_t columns, const std::byte* from, std::byte* to) {
  switch (unit) {
    case 1:
      if (columns > kByteColumns || !std::has_single_bit(static_cast<uint64_t>(columns)))
        return transpose_units<1>(rows, columns, from, to);
      for (int64_t r = 0; r < rows; r += kByteRows)
        transpose_bytes(std::min(kByteRows, rows - r), columns, rows, from + r * columns, to + r);
      return;
    case 2:
      return transpose_units<2>(rows, columns, from, to);
    case 4:
      return transpose_units<4>(rows, columns, from, to);
    case 8:
      return transpose_units<8>(rows, columns, from, to);
    case 16:
      return transpose_units<16>(rows, columns, from, to);
    case 32:
      return transpose_units<32>(rows, columns, from, to);
    case 64:
      return transpose_units<64>(rows, columns, from, to);
  }
  for (int64_t r = 0; r < rows; ++r)
    for (int64_t c = 0; c < columns; ++c)
      std::memcpy(to + static_cast<size_t>(c * rows + r) * unit,
                  from + static_cast<size_t>(r * columns + c) * unit, unit);
}

}  // namespace

int64_t native_block() {
  static const int64_t block =
      dnnl::get_effective_cpu_isa() >= dnnl::cpu_isa::avx512_core ? int64_t{16} : int64_t{8};
  return block;
}

Layout image_layout(const Shape& s, int64_t block) {
  // Planes of a single channel are row-major.
  return block == 0 || (block == 1 && s[3] == 1) ? Layout{}
                                                 : Layout{s[0], s[1] * s[2], s[3], block};
}

void reorder(const Layout& l, bool to_row_major, size_t bytes, const std::byte* from,
             std::byte* to) {
  const size_t image = bytes / static_cast<size_t>(l.images);
  const size_t unit = image / static_cast<size_t>(l.pixels * l.groups());
  for (int64_t n = 0; n < l.images; ++n, from += image, to += image)
    to_row_major ? transpose(unit, l.groups(), l.pixels, from, to)
                 : transpose(unit, l.pixels, l.groups(), from, to);
}

}  // namespace lockstep
