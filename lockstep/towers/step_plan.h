// What a step does, as plain data: which executables, where their inputs come from, where their
// results go. Filled by train/, run by TowerRunner, which knows neither layers nor optimizers.
#pragma once

#include <memory>
#include <span>
#include <vector>

#include "lockstep/backend/backend.h"

namespace lockstep {

/// Where an input of a segment comes from.
struct TowerInput {
  enum class Source {
    kVariable,   // index: element offset in the variable space
    kColumn,     // index: batch column; the tower's rows of it
    kScalar,     // index: byte offset in the step's scalars, the same for all towers
    kFirstRow,   // u32[]: first row of the tower in the global batch
    kValue,      // index: per-tower value kept from an earlier segment
    kExchanged,  // index: result of an exchange
  };
  Source source;
  int64_t index = 0;
};

/// Where a result of a segment goes.
struct TowerOutput {
  enum class Target {
    kSum,       // index: element offset in the sums; added over towers along the tree
    kRows,      // index: row output; the tower's rows of it
    kValue,     // index: per-tower value slot
    kExchange,  // index: exchange slot; added over towers before the next segment
  };
  Target target;
  int64_t index = 0;
};

struct SegmentPlan {
  std::shared_ptr<Executable> executable;         // in host memory, or
  std::shared_ptr<DeviceProgram> device_program;  // in the devices' own
  std::vector<TensorType> input_types;
  double flops = 0;  // of contractions
  std::vector<TowerInput> inputs;
  std::vector<TowerOutput> outputs;
};

/// The program of towers of one shape.
struct TowerProgram {
  int64_t rows = 0;
  std::vector<SegmentPlan> segments;
  std::vector<TensorType> value_types;      // of the per-tower value slots, for this shape
  std::vector<TensorType> exchanged_types;  // f32; the same for every shape
};

/// Elements [begin, end) of the sums.
struct Shard {
  int64_t begin = 0, end = 0;
};

/// The update, done by shards: every device does phase p for its shard, then all wait, then p + 1.
class ShardedUpdate {
 public:
  virtual ~ShardedUpdate() = default;
  virtual int phase_count() const = 0;
  /// `sums` holds the tree sums; each device has its own shard of them complete in phase 0, and
  /// all of them from phase 1 on.
  virtual void run_phase(int phase, int device, float* sums) = 0;
};

/// A run of a variable's gradient that one device reduces and updates. Where pieces are cut does
/// not depend on the number of devices; which device owns one does.
struct SumPiece {
  int64_t offset = 0, size = 0;  // elements of the sums
  int owner = 0;
};

class ResidentVariables;

/// The update of devices with a memory of their own, in phases as ShardedUpdate.
class ResidentPhases {
 public:
  virtual ~ResidentPhases() = default;
  virtual int phase_count() const = 0;
  /// `pieces`: tree sums of the pieces that `device` owns, in order; `tail`: the sums behind the
  /// gradients, on device 0 only, null elsewhere.
  virtual void run_phase(int phase, int device, std::span<const DeviceTensorPtr> pieces,
                         const DeviceTensorPtr& tail) = 0;
};

/// One kind of step (train, evaluate, predict, denominators): a program per tower shape, shared
/// sums.
struct StepPlan {
  std::vector<std::shared_ptr<TowerProgram>> programs;  // of different rows
  int64_t sums_size = 0;                                // f32 elements; 0 when nothing is summed
  std::vector<Shard> shards;                            // one a device
  // Where devices have a memory of their own: the gradients in pieces, and where they end.
  std::vector<SumPiece> pieces;
  int64_t gradients_size = 0;
  std::vector<size_t> column_row_bytes, output_row_bytes;

  const TowerProgram* find(int64_t rows) const {
    for (const auto& program : programs)
      if (program->rows == rows) return program.get();
    return nullptr;
  }
};

/// What one step works on. Pointers stay valid until the step returns.
struct StepData {
  int64_t rows = 0;
  std::span<const void* const> columns;  // batch columns, [rows, ...] each
  std::span<void* const> row_outputs;    // [rows, ...] each
  const std::byte* scalars = nullptr;
  const float* variables = nullptr;           // the variable space
  bool variables_changed = true;              // since this plan last ran: prologues must run again
  ShardedUpdate* update = nullptr;            // or null
  ResidentVariables* resident = nullptr;      // the same variables in the devices' memory
  ResidentPhases* resident_update = nullptr;  // or null
};

/// Seconds of the calling device, by phase; the bench's "time by phase".
struct PhaseTimes {
  double prologue = 0, towers = 0, fold = 0, wait = 0, reduce = 0, update = 0;
  PhaseTimes& operator+=(const PhaseTimes& other);
};

}  // namespace lockstep
