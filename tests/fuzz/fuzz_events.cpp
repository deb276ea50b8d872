// Any bytes are an event file or damaged, as a whole and as the content of a record whose checksums
// are right: else nearly every input would fail there.
#include "lockstep/formats/event_file.h"
#include "tests/fuzz/fuzz_refusal.h"

namespace {

using namespace lockstep;

void parse(std::string_view bytes) {
  answer_or_refuse({ErrorCode::kDataLoss}, [&] { parse_events(bytes, "fuzz"); });
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const std::string_view bytes(reinterpret_cast<const char*>(data), size);
  parse(bytes);
  const std::string_view half = bytes.substr(0, size / 2);
  parse(event_record(bytes) + event_record(half) + event_record(bytes.substr(half.size())));
  return 0;
}
