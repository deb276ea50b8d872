// Any bytes either parse as IDX or are refused as damaged; as gzip, too.
#include "lockstep/data/gzip.h"
#include "lockstep/data/idx.h"

namespace {

/// Runs `body`; a refusal must say that the file is damaged.
template <class Body>
void parse_or_refuse(Body&& body) {
  try {
    body();
  } catch (const lockstep::Error& error) {
    LOCKSTEP_CHECK(error.code() == lockstep::ErrorCode::kDataLoss);
  }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const std::string_view bytes(reinterpret_cast<const char*>(data), size);
  parse_or_refuse([&] {
    const lockstep::HostTensor tensor = lockstep::parse_idx(bytes, "fuzz");
    LOCKSTEP_CHECK(tensor.size() >= 1 && tensor.size_bytes() <= 4 * size);
  });
  parse_or_refuse([&] {
    const lockstep::Bytes unpacked = lockstep::gunzip(bytes, "fuzz", uint64_t{1} << 20);
    lockstep::parse_idx(unpacked, "fuzz");
  });
  return 0;
}
