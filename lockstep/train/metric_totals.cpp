#include "lockstep/train/metric_totals.h"

namespace lockstep {

void MetricTotals::reset() {
  *this = {};
}

void MetricTotals::add(double loss, std::span<const LossEntry> losses,
                       std::span<const double> output_losses, std::span<const MetricEntry> metrics,
                       StepSums& sums, int64_t rows) {
  weighted_loss_ += loss * static_cast<double>(rows);
  rows_ += static_cast<double>(rows);
  output_losses_.resize(losses.size());
  for (size_t k = 0; k < losses.size(); ++k)
    output_losses_[k] += output_losses[k] * static_cast<double>(rows);
  size_t at = 0;
  for (const MetricEntry& metric : metrics)
    for (int i = 0; i < metric.sum_count; ++i, ++at) {
      if (sums_.size() <= at) sums_.push_back(0);
      sums_[at] += static_cast<double>(*sums.from(metric.first_sum + i));
    }
}

std::vector<double> MetricTotals::results(std::span<const MetricEntry> metrics) const {
  std::vector<double> results;
  size_t at = 0;
  for (const MetricEntry& metric : metrics) {
    const auto count = static_cast<size_t>(metric.sum_count);
    const std::vector<double> none(count, 0.0);
    results.push_back(metric.metric->result(sums_.empty() ? std::span(none)
                                                          : std::span(sums_).subspan(at, count)));
    at += count;
  }
  return results;
}

Json MetricTotals::state() const {
  const auto list = [](const std::vector<double>& values) {
    Json json = Json::array();
    for (double value : values) json.push_back(exact_double(value));
    return json;
  };
  return {{"weighted_loss", exact_double(weighted_loss_)},
          {"rows", exact_double(rows_)},
          {"output_losses", list(output_losses_)},
          {"sums", list(sums_)}};
}

void MetricTotals::restore(const Json& state) {
  const auto number = [](const Json& json) { return parse_exact_double(json, "totals"); };
  const auto list = [&](const Json& json) {
    std::vector<double> values;
    for (const Json& value : json) values.push_back(number(value));
    return values;
  };
  weighted_loss_ = number(state.at("weighted_loss"));
  rows_ = number(state.at("rows"));
  output_losses_ = list(state.at("output_losses"));
  sums_ = list(state.at("sums"));
}

}  // namespace lockstep
