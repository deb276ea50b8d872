#include "lockstep/train/monitor.h"

#include <algorithm>
#include <cmath>

#include "lockstep/base/error.h"

namespace lockstep {
namespace {

bool grows(const std::string& mode, const std::string& name, std::string_view who) {
  if (mode == "max") return true;
  if (mode == "min") return false;
  if (mode != "auto") invalid_argument(who, "mode must be auto, min or max: \"{}\"", mode);
  return name.ends_with("acc") || name.ends_with("accuracy") || name.ends_with("auc");
}

}  // namespace

double monitored(const Logs& logs, const std::string& name, std::string_view who) {
  const auto find = [&](const std::string& wanted) {
    return std::find_if(logs.begin(), logs.end(),
                        [&](const auto& entry) { return entry.first == wanted; });
  };
  auto it = find(name);
  if (it == logs.end() && name.ends_with("acc")) it = find(name + "uracy");
  if (it != logs.end()) return it->second;
  std::string known;
  for (const auto& [key, value] : logs) known += (known.empty() ? "" : ", ") + key;
  invalid_argument(who, "monitor must be one of {}: \"{}\"", known, name);
}

Monitor::Monitor(std::string name, const std::string& mode, double min_delta, std::string_view who)
    : name_(std::move(name)),
      who_(who),
      is_growing_(grows(mode, name_, who)),
      min_delta_(std::abs(min_delta)) {}

bool Monitor::improves(double value, const std::optional<double>& reference) const {
  if (!reference) return true;
  return is_growing_ ? value - min_delta_ > *reference : value + min_delta_ < *reference;
}

void Monitor::restore_best(const Json& state) {
  best_.reset();
  if (!state.is_null()) best_ = parse_exact_double(state, who_);
}

std::string epoch_message(int64_t epoch, const std::string& text) {
  return fmt::format("Epoch {}: {}", epoch + 1, text);
}

}  // namespace lockstep
