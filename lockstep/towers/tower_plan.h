// How a global batch is cut into towers, and which device runs which: the cut depends on the batch
// alone, the placement is free (docs/determinism.md, "Towers" and "Placement").
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace lockstep {

/// Rows [begin, begin + rows) of the global batch.
struct TowerRows {
  int64_t begin = 0, rows = 0;
  bool operator==(const TowerRows&) const = default;
};

/// Slices of `tower_size` rows in order; a last slice shorter than a quarter of that joins the one
/// before. Covers every row once; no empty tower. batch_rows >= 1, tower_size >= 1.
std::vector<TowerRows> cut_towers(int64_t batch_rows, int64_t tower_size);

/// `--tower-size auto`. "cpu" and "reference": 32, doubled until the work per tower outweighs
/// folding its gradient (flops_per_row * rows >= 768 * parameters), at most the batch.
/// Accelerators: an eighth of the batch rounded up to 8, at least 32, at most the batch.
int64_t auto_tower_size(int64_t batch_size, std::string_view backend_kind, double flops_per_row,
                        int64_t parameters);

/// Towers [first, last) of one device.
struct TowerRange {
  int first = 0, last = 0;
  bool operator==(const TowerRange&) const = default;
};

/// Static placement: contiguous ranges of at most ceil(towers / devices), each border at the
/// most aligned index that keeps this balance. Devices beyond the towers get empty ranges.
std::vector<TowerRange> place_towers(int towers, int devices);

}  // namespace lockstep
