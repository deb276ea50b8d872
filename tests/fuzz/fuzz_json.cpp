// Any bytes are JSON or damaged; what is JSON reads back the same once written.
#include "lockstep/formats/json.h"
#include "tests/fuzz/fuzz_refusal.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using namespace lockstep;
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  answer_or_refuse({ErrorCode::kDataLoss}, [&] {
    const std::string written = dump_json(parse_json(text, "fuzz"));
    LOCKSTEP_CHECK(dump_json(parse_json(written, "fuzz")) == written);
    LOCKSTEP_CHECK(dump_json(parse_json(dump_json(parse_json(text, "fuzz"), 2), "fuzz")) ==
                   written);
  });
  return 0;
}
