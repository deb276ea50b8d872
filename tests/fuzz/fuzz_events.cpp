// Any bytes are an event file or damaged, as a whole and as the content of a record whose checksums
// are right: else nearly every input would fail there. What is cut holds no later steps.
#include "lockstep/formats/event_file.h"
#include "tests/fuzz/fuzz_refusal.h"

namespace {

using namespace lockstep;

void parse_and_cut(std::string_view bytes) {
  answer_or_refuse({ErrorCode::kDataLoss}, [&] {
    const auto events = parse_events(bytes, "fuzz");
    const int64_t step = events.empty() ? 0 : events[0].step;
    const Bytes kept = keep_events_until(bytes, step, "fuzz");
    const auto left = parse_events(kept, "fuzz");
    const auto is_kept = [&](const ScalarEvent& event) { return event.step <= step; };
    LOCKSTEP_CHECK(std::all_of(left.begin(), left.end(), is_kept));
    LOCKSTEP_CHECK(std::count_if(events.begin(), events.end(), is_kept) ==
                   static_cast<int64_t>(left.size()));
    LOCKSTEP_CHECK(keep_events_until(kept, step, "fuzz") == kept);
  });
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const std::string_view bytes(reinterpret_cast<const char*>(data), size);
  parse_and_cut(bytes);
  const std::string_view half = bytes.substr(0, size / 2);
  parse_and_cut(event_record(bytes) + event_record(half) + event_record(bytes.substr(half.size())));
  return 0;
}
