// Any bytes are a zip archive or damaged, as a whole or in a member.
#include "lockstep/formats/zip.h"
#include "tests/fuzz/fuzz_refusal.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using namespace lockstep;
  const Bytes bytes(reinterpret_cast<const char*>(data), size);
  answer_or_refuse({ErrorCode::kDataLoss}, [&] {
    const ZipReader reader(bytes, "fuzz");
    for (const ZipMember& member : reader.members())
      answer_or_refuse({ErrorCode::kDataLoss}, [&] {
        LOCKSTEP_CHECK(reader.read(member.name).size() == member.size_bytes);
      });
  });
  return 0;
}
