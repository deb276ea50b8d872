#include "lockstep/towers/tower_plan.h"

#include <algorithm>
#include <bit>

#include "lockstep/base/error.h"

namespace lockstep {

std::vector<TowerRows> cut_towers(int64_t batch_rows, int64_t tower_size) {
  LOCKSTEP_CHECK(batch_rows >= 1 && tower_size >= 1);
  std::vector<TowerRows> towers;
  for (int64_t begin = 0; begin < batch_rows; begin += tower_size) {
    const int64_t rows = std::min(tower_size, batch_rows - begin);
    if (!towers.empty() && rows * 4 < tower_size)
      towers.back().rows += rows;
    else
      towers.push_back({begin, rows});
  }
  return towers;
}

int64_t auto_tower_size(int64_t batch_size, std::string_view backend_kind, double flops_per_row,
                        int64_t parameters) {
  const bool on_host = backend_kind == "cpu" || backend_kind == "reference";
  int64_t rows = 32;
  if (on_host) {
    while (rows < batch_size && flops_per_row * rows < 768.0 * parameters) rows *= 2;
  } else {
    const int64_t eighth = (batch_size + 7) / 8;
    rows = std::max<int64_t>(32, (eighth + 7) / 8 * 8);
  }
  return std::min(rows, batch_size);
}

std::vector<TowerRange> place_towers(int towers, int devices) {
  const int most = (towers + devices - 1) / devices;
  std::vector<TowerRange> ranges;
  int first = 0;
  for (int device = 0; device < devices; ++device) {
    const int lowest = std::max(first, towers - (devices - 1 - device) * most);
    const int highest = std::min(towers, first + most);
    // The most aligned border lets the largest subtrees fold on one device.
    int border = highest;
    for (int candidate = lowest; candidate <= highest; ++candidate) {
      if (candidate == first && candidate < towers) continue;
      if (std::countr_zero(static_cast<unsigned>(candidate)) >
          std::countr_zero(static_cast<unsigned>(border)))
        border = candidate;
    }
    if (device == devices - 1) border = towers;
    ranges.push_back({first, border});
    first = border;
  }
  return ranges;
}

}  // namespace lockstep
