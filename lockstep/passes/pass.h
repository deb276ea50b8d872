// Graph-to-graph passes. Each makes a new graph that means the same.
#pragma once

#include <memory>
#include <vector>

#include "lockstep/ir/builder.h"

namespace lockstep {

/// Drops nodes no result needs, merges equal nodes, folds constants of at most 1,024 elements and
/// the identities x*1, x/1, x-0, broadcast/reshape/transpose/convert to the same type, reshape of
/// reshape, negate of negate. Parameters stay, in order, used or not. Idempotent.
/// Never reorders or reassociates arithmetic: results keep their bits.
std::unique_ptr<Graph> simplify(const Graph& graph);

/// A program cut at its tower_sum nodes. Segment s may use, besides the program's own parameters,
/// values of earlier segments (kept per tower) and results of earlier exchanges (summed over
/// towers).
struct Segment {
  std::unique_ptr<Graph> graph;
  /// Where each parameter of `graph` comes from.
  enum class Source { kParameter, kValue, kExchanged };
  struct Input {
    Source source;
    int index;  // parameter position; slot in `values`; slot in `exchanged`
  };
  std::vector<Input> inputs;
  /// Where each result of `graph` goes: a program result, a value slot, an exchange slot to be
  /// summed.
  enum class Target { kResult, kValue, kExchange };
  struct Output {
    Target target;
    int index;
  };
  std::vector<Output> outputs;
};

struct SegmentedProgram {
  std::vector<Segment> segments;            // one where the graph holds no tower_sum
  std::vector<TensorType> value_types;      // per-tower values that live across a cut
  std::vector<TensorType> exchanged_types;  // tower_sum results
};

/// Cuts `graph` into the fewest segments: every node goes into the earliest segment it can run in.
/// All results of the program come from the last segment; earlier ones are kept for it.
SegmentedProgram cut_segments(const Graph& graph);

}  // namespace lockstep
