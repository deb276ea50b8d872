// From a graph to steps. First units are formed: what runs as one step (a node with what it
// absorbs, or a chain of elementwise nodes); then each unit is lowered by its family's function;
// then memory is planned.
#pragma once

#include <array>
#include <functional>
#include <map>
#include <optional>

#include "lockstep/backend/onednn/layout.h"
#include "lockstep/backend/onednn/pointwise_kernels.h"
#include "lockstep/backend/onednn/step.h"
#include "lockstep/ir/graph.h"

namespace lockstep {

/// Memory of a value, or of several that share it.
struct Slot {
  enum class Kind { kInput, kOutput, kArena, kConstant };
  Kind kind = Kind::kArena;
  int index = 0;  // input or output position
  size_t size_bytes = 0;
  size_t offset = 0;    // kArena
  HostTensor constant;  // kConstant
  int first_step = -1,
      last_step = -1;  // kArena: the steps from its first writer to its last reader
};

/// Sizes in the arena are multiples of a cache line.
inline size_t aligned(size_t bytes) {
  return (bytes + 63) / 64 * 64;
}

struct Plan {
  std::vector<Slot> slots;
  std::vector<std::unique_ptr<Step>> steps;
  size_t arena_bytes = 0, scratch_bytes = 0;
};

/// Compiles `graph`, which must be simplified. Throws Unsupported naming the node.
Plan lower(const Graph& graph);

/// What runs as one step. `nodes` ascending; `head` decides the family unless `is_pointwise`.
struct Unit {
  std::vector<int> nodes;
  bool is_pointwise = false;
  int head = -1;
};

/// How an elementwise consumer reads a broadcast value without its being written out.
struct BroadcastView {
  int source;  // value
  enum class Kind { kTiled, kRepeated } kind;
  int64_t period;  // kTiled: element i is source[i % period]; kRepeated: source[i / period]
};

class Lowering {
 public:
  Lowering(const Graph& graph, Plan& plan);
  void run();

  const Graph& graph() const { return graph_; }
  const TensorType& type(int value) const { return graph_.type(value); }
  const std::vector<int>& users(int value) const { return users_[static_cast<size_t>(value)]; }
  bool is_result(int value) const { return is_result_[static_cast<size_t>(value)]; }
  /// The one node that uses `value`, or null when several do or it is a result of the program.
  const Node* only_user(int value) const;

  // -- while units are formed
  /// Makes `node` part of `unit`, which is not pointwise.
  void absorb(int node, int unit);
  bool is_free(int node) const { return unit_of_[static_cast<size_t>(node)] < 0; }
  std::optional<BroadcastView> broadcast_view(int value) const;
  /// A value that dropout overwrites in place because its gradient is taken from the dropped value.
  bool is_recovered(int value) const { return recovered_.contains(value); }
  /// elu_gradient or relu_gradient nodes that read the dropped value instead; -> the dropout node.
  const Node* recovering_dropout(const Node& gradient) const;

  // -- while a unit is lowered
  /// The order in memory that was chosen for a value.
  const Layout& layout(int value) const { return layout_[static_cast<size_t>(value)]; }
  /// Slot of a value in row-major order, or in another; copied into it once where it lies
  /// differently.
  int read(int value) { return read_as(value, {}); }
  int read_as(int value, const Layout& wanted);
  int read_element(int value);  // slot of the one element that a splat constant repeats
  /// Slot to write a value to, in its layout.
  int write(int value);
  /// Gives `value` the memory of `dying`, which this unit reads for the last time; false when it
  /// may not.
  bool write_in_place(int value, int dying);
  bool same_memory(int value, int other) const;
  void share(int value, int other);  // same memory from now on (reshape)
  void add(std::unique_ptr<Step> step);
  const Unit& unit() const { return units_[static_cast<size_t>(current_)]; }

 private:
  void find_recovered();
  void form_units();
  void form_pointwise(int node);
  bool depends(int value, int unit) const;
  bool is_view_only(const Node& node) const;
  bool may_follow(int unit, int leader) const;
  void order_units();
  void find_last_uses();
  void choose_layouts();
  void choose_layout(const Node& node, const Unit& unit);
  void set_layout(int value, const Layout& layout);
  Layout known_layout(const Shape& shape) const;
  Layout pointwise_layout(const Unit& unit) const;
  int main_slot(int value);
  void write_result(int value, int output);
  void add_before(std::unique_ptr<Step> step);
  void lower_unit();
  void finish_results();
  void plan_arena();
  int new_slot(Slot slot);
  void touch(int slot);

  const Graph& graph_;
  Plan& plan_;
  std::vector<std::vector<int>> users_;
  std::vector<bool> is_result_;
  std::vector<int> unit_of_;  // of each node; -1: none (leaves, views)
  std::vector<Unit> units_;
  std::vector<int> order_;
  std::vector<int> last_unit_;                     // position in order_ of each value's last reader
  std::vector<int> slot_of_;                       // of each value
  std::map<int, int> recovered_;                   // value -> dropout node
  std::vector<Layout> layout_;                     // of each value
  std::vector<std::pair<Shape, Layout>> known_;    // blocked images so far
  std::map<std::pair<int, int64_t>, int> copies_;  // (value, block) -> slot of a reordered copy
  std::vector<int> touched_;                       // slots of the step that is being made
  int current_ = 0, position_ = 0;
};

// One a family. Each lowers the current unit.
void lower_convolution(Lowering& lowering, const Node& node);
void lower_dot(Lowering& lowering, const Node& node);
void lower_pooling(Lowering& lowering, const Node& node);
void lower_normalization(Lowering& lowering, const Node& node);
void lower_rowwise(Lowering& lowering, const Node& node);
void lower_reduce(Lowering& lowering, const Node& node);
void lower_movement(Lowering& lowering, const Node& node);
void lower_dropout(Lowering& lowering, const Node& node);
void lower_pointwise(Lowering& lowering);
/// Integer and rare types: the op's own loops (eval), on tensors made ahead.
void lower_by_meaning(Lowering& lowering, const Node& node);

/// What a convolution takes with it: bias and activation; the bias gradient.
void absorb_into_convolution(Lowering& lowering, const Node& node, int unit);
/// A bias gradient that the kernel gradient of the same cotangent, later in the graph, will absorb.
bool awaits_convolution(const Lowering& lowering, const Node& node);
/// Groups of channels in which a convolution reads and writes its images; 0: row-major.
struct ConvBlocks {
  int64_t x = 0, y = 0;
};
ConvBlocks choose_convolution_blocks(const Lowering& lowering, const Node& node);
/// A product whose result, [rows, flattened image], can be written in any order of the image.
bool is_skinny_input_gradient(const Lowering& lowering, const Node& node);
/// Can the pointwise engine run this node?
bool is_pointwise(const Graph& graph, const Node& node);
/// The kernel that computes an elementwise node, and its parameters.
struct PointCall {
  PointFn function;
  std::array<float, 4> params;
};
PointCall point_call(const Graph& graph, const Node& node);

}  // namespace lockstep
