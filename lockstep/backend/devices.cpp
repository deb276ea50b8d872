#include "lockstep/backend/devices.h"

#include <sched.h>

#include <algorithm>
#include <charconv>

#include "lockstep/backend/onednn/onednn_backend.h"
#include "lockstep/backend/pjrt/discovery.h"
#include "lockstep/backend/pjrt/pjrt_backend.h"
#include "lockstep/backend/reference/reference_backend.h"

namespace lockstep {
namespace {

constexpr int kMostDevices = 1024;

/// Of hardware a number alone is an index.
bool is_hardware(std::string_view kind) {
  return !is_host_kind(kind) && kind != "xla_cpu";
}

int parse_number(std::string_view text, const std::string& whole) {
  int value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error == std::errc() && end == text.data() + text.size() && value >= 0 &&
      value <= kMostDevices)
    return value;
  const std::string kind = whole.substr(0, whole.find(':'));
  invalid_argument(
      "devices",
      "numbers must be whole and in [0, {}]: \"{}\" in \"{}\". {}:2 is {}, {}:0-2 those "
      "with the indices 0, 1 and 2, {}:0,2 the first and the third",
      kMostDevices, text, whole, kind, is_hardware(kind) ? "the third device" : "two devices", kind,
      kind);
}

std::vector<int> parse_indices(std::string_view list, const std::string& whole) {
  std::vector<int> indices;
  for (bool is_last = false; !is_last;) {
    const size_t comma = list.find(',');
    const std::string_view item = list.substr(0, comma);
    is_last = comma == std::string_view::npos;
    if (!is_last) list.remove_prefix(comma + 1);
    const size_t dash = item.find('-');
    const int first = parse_number(item.substr(0, dash), whole);
    const int last =
        dash == std::string_view::npos ? first : parse_number(item.substr(dash + 1), whole);
    if (last < first) invalid_argument("devices", "a range goes up: \"{}\" in \"{}\"", item, whole);
    for (int index = first; index <= last; ++index) indices.push_back(index);
  }
  return indices;
}

}  // namespace

std::vector<int> affinity_cores() {
  std::vector<int> cores;
  cpu_set_t mask;
  if (sched_getaffinity(0, sizeof mask, &mask) == 0)
    for (int core = 0; core < CPU_SETSIZE; ++core)
      if (CPU_ISSET(core, &mask)) cores.push_back(core);
  if (cores.empty()) cores.push_back(0);
  return cores;
}

namespace {

void check_cores(const std::vector<int>& indices, const std::string& whole) {
  const std::vector<int> cores = affinity_cores();
  for (int index : indices)
    if (std::find(cores.begin(), cores.end(), index) == cores.end())
      fail(ErrorCode::kNotFound, "devices",
           "core {} of \"{}\" is not among the {} this process may run on. cpu:N is N devices on "
           "any",
           index, whole, cores.size());
}

}  // namespace

bool is_host_kind(std::string_view kind) {
  return kind == "cpu" || kind == "reference";
}

DeviceSpec parse_devices(const std::string& text) {
  const size_t colon = text.find(':');
  DeviceSpec spec{text.substr(0, colon), 1, {}};
  if (!is_host_kind(spec.kind) && pjrt::find_plugin_kind(spec.kind) == nullptr)
    invalid_argument("devices",
                     "a device is cpu, cpu:N, cpu:0-3, cuda, cuda:0, cuda:0-3, rocm, sycl, tpu, "
                     "xla_cpu:N or reference:N: \"{}\"",
                     text);
  if (colon == std::string::npos) {
    if (spec.kind == "cpu") spec.count = static_cast<int>(affinity_cores().size());
    if (!is_host_kind(spec.kind)) spec.count = count_pjrt_devices(spec.kind);
    return spec;
  }
  const std::string rest = text.substr(colon + 1);
  if (rest.find_first_of(",-") == std::string::npos && !is_hardware(spec.kind)) {
    spec.count = parse_number(rest, text);
    if (spec.count == 0)
      invalid_argument("devices", "{} asks for no device. {}:1 is one device", text, spec.kind);
    return spec;
  }
  spec.indices = parse_indices(rest, text);
  if (spec.kind == "cpu") check_cores(spec.indices, text);
  spec.count = static_cast<int>(spec.indices.size());
  return spec;
}

std::unique_ptr<Backend> make_backend(const DeviceSpec& spec) {
  if (spec.kind == "cpu") return make_onednn_backend();
  if (spec.kind == "reference") return make_reference_backend();
  return make_pjrt_backend(spec.kind, spec.count, spec.indices);
}

std::vector<DeviceKind> device_kinds() {
  std::vector<DeviceKind> kinds = {
      {"cpu", make_onednn_backend()->version(), static_cast<int>(affinity_cores().size())},
      {"reference", "the meaning of every op as plain loops, for tests", 1}};
  for (const pjrt::PluginKind& kind : pjrt::plugin_kinds()) {
    const PjrtKindReport report = report_pjrt_kind(kind.kind);
    kinds.push_back({std::string(kind.kind), report.description, report.count});
  }
  return kinds;
}

}  // namespace lockstep
