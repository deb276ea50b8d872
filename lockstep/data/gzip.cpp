#include "lockstep/data/gzip.h"

#include <zlib.h>

#include <algorithm>
#include <limits>

namespace lockstep {
namespace {

constexpr int kGzipOnly = 16 + MAX_WBITS;  // inflateInit2: a gzip header, no zlib one
constexpr size_t kFirstPiece = size_t{1} << 16;

/// zlib's state over input of any size; `avail_in` alone has 32 bits.
class Inflater {
 public:
  explicit Inflater(std::string_view packed) : left_(packed) {
    if (inflateInit2(&stream_, kGzipOnly) != Z_OK)
      fail(ErrorCode::kOutOfMemory, "gzip", "zlib's state cannot be allocated");
  }
  ~Inflater() { inflateEnd(&stream_); }
  Inflater(const Inflater&) = delete;
  Inflater& operator=(const Inflater&) = delete;

  /// Unpacks at most `room` bytes to `to` and returns how many; `status` is zlib's.
  size_t unpack(char* to, size_t room, int& status) {
    constexpr size_t kMost = std::numeric_limits<uInt>::max();
    const auto piece = static_cast<uInt>(std::min(left_.size(), kMost));
    const auto space = static_cast<uInt>(std::min(room, kMost));
    stream_.next_in = reinterpret_cast<Bytef*>(const_cast<char*>(left_.data()));
    stream_.avail_in = piece;
    stream_.next_out = reinterpret_cast<Bytef*>(to);
    stream_.avail_out = space;
    status = inflate(&stream_, Z_NO_FLUSH);
    left_.remove_prefix(piece - stream_.avail_in);
    return space - stream_.avail_out;
  }
  bool has_input() const { return !left_.empty(); }
  void begin_next_member() { inflateReset(&stream_); }
  const char* message() const { return stream_.msg == nullptr ? "it ends early" : stream_.msg; }

 private:
  z_stream stream_{};
  std::string_view left_;
};

}  // namespace

Bytes gunzip(std::string_view packed, std::string_view where, uint64_t max_bytes) {
  Inflater inflater(packed);
  Bytes out;
  size_t done = 0;
  while (true) {
    if (done == out.size()) {
      if (done > max_bytes)
        fail(ErrorCode::kDataLoss, where, "gzip data must unpack to at most {} bytes", max_bytes);
      // One byte more than allowed, so that too much shows without being unpacked.
      out.resize(std::min<uint64_t>(std::max(done * 2, kFirstPiece), max_bytes + 1));
    }
    int status = Z_OK;
    done += inflater.unpack(out.data() + done, out.size() - done, status);
    if (status == Z_STREAM_END) {
      if (!inflater.has_input()) break;
      inflater.begin_next_member();
    } else if (status != Z_OK) {
      fail(ErrorCode::kDataLoss, where, "gzip data must be whole: {} after {} unpacked bytes",
           inflater.message(), done);
    }
  }
  if (done > max_bytes)
    fail(ErrorCode::kDataLoss, where, "gzip data must unpack to at most {} bytes", max_bytes);
  out.resize(done);
  return out;
}

}  // namespace lockstep
