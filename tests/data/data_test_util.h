// Files as the tests of datasets write them.
#pragma once

#include <gtest/gtest.h>
#include <zlib.h>

#include <string>
#include <vector>

namespace lockstep {

/// An IDX file of this type code and these extents.
inline std::string idx_bytes(uint8_t code, const std::vector<uint32_t>& extents,
                             const std::string& data) {
  std::string bytes = {0, 0, static_cast<char>(code), static_cast<char>(extents.size())};
  for (uint32_t extent : extents)
    for (int shift : {24, 16, 8, 0}) bytes += static_cast<char>(extent >> shift);
  return bytes + data;
}

/// A gzip member that holds `text`.
inline std::string gzipped(const std::string& text) {
  z_stream stream{};
  EXPECT_EQ(deflateInit2(&stream, 6, Z_DEFLATED, 16 + MAX_WBITS, 8, Z_DEFAULT_STRATEGY), Z_OK);
  std::string packed(deflateBound(&stream, text.size()) + 64, '\0');
  stream.next_in = reinterpret_cast<Bytef*>(const_cast<char*>(text.data()));
  stream.avail_in = static_cast<uInt>(text.size());
  stream.next_out = reinterpret_cast<Bytef*>(packed.data());
  stream.avail_out = static_cast<uInt>(packed.size());
  EXPECT_EQ(deflate(&stream, Z_FINISH), Z_STREAM_END);
  packed.resize(packed.size() - stream.avail_out);
  deflateEnd(&stream);
  return packed;
}

}  // namespace lockstep
