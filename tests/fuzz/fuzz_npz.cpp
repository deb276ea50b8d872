// Any bytes are arrays or refused, as .npy and as .npz; arrays read back the same once written.
#include "lockstep/formats/npy.h"
#include "tests/fuzz/fuzz_refusal.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using namespace lockstep;
  const auto codes = {ErrorCode::kDataLoss, ErrorCode::kUnsupported};
  const Bytes bytes(reinterpret_cast<const char*>(data), size);
  answer_or_refuse(codes, [&] {
    const HostTensor tensor = parse_npy(bytes, "fuzz");
    LOCKSTEP_CHECK(tensor.size_bytes() <= 4 * size);
    LOCKSTEP_CHECK(parse_npy(write_npy(tensor), "fuzz").same_bits(tensor));
  });
  answer_or_refuse(codes, [&] {
    const NpzFile file(bytes, "fuzz");
    for (const std::string& name : file.names()) answer_or_refuse(codes, [&] { file.read(name); });
  });
  return 0;
}
