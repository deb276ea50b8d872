// The one order in which sums over towers are made: a binary tree over the tower index, level by
// level, left + right, an odd one passing up (docs/determinism.md, "Tree"). Node (level, index)
// covers towers [index << level, (index + 1) << level). Who adds is free, what is added is not.
#pragma once

#include <mutex>
#include <span>
#include <utility>
#include <vector>

#include "lockstep/tensor/host_tensor.h"

namespace lockstep {

/// to[i] = to[i] + from[i]
void add_into(float* to, const float* from, int64_t n);
/// a[i] = (a[i] + b[i]) + (c[i] + d[i]), in one pass
void add_four(float* a, const float* b, const float* c, const float* d, int64_t n);

/// Adds `values` (one a tower) along the tree. The definition that everything else must equal.
float tree_sum(std::span<const float> values);

/// One addition of the tail of a reduction: buffer `to` += buffer `from`.
struct TreeAdd {
  int to = 0, from = 0;
};

/// Sums of one step: towers deposit their buffers in any order and from any thread; complete
/// subtrees of four are folded at once, in one pass over memory; what remains is added by shards.
class TreeFold {
 public:
  /// Buffers of `size` floats, zero when made. `planned` of them are made ahead.
  TreeFold(int64_t size, int planned);

  /// Starts a step of `towers` towers: every buffer is free again.
  void begin(int towers);
  struct Buffer {
    int id = -1;
    float* data = nullptr;
  };
  /// A free buffer, its content undefined. With none free, folds a pair of finished siblings to
  /// free one; makes a new buffer only where no pair exists.
  Buffer acquire();
  /// Tower `tower`'s sums are in `buffer`.
  void deposit(int tower, int buffer);
  /// After the last deposit: works out the additions, in order, that finish the sum.
  void plan_remaining();
  const std::vector<TreeAdd>& adds() const { return adds_; }
  /// Buffer in which the total ends up. Valid after plan_remaining().
  int result() const { return result_; }

  /// Not while another thread may acquire.
  float* data(int buffer) { return reinterpret_cast<float*>(buffers_[buffer].data()); }
  int64_t size() const { return size_; }
  size_t size_bytes() const;

 private:
  using Key = std::pair<int, int>;  // level, index
  bool exists(Key key) const { return (static_cast<int64_t>(key.second) << key.first) < towers_; }
  bool take_four(Key key, int (&four)[4]);
  bool fold_pair(std::unique_lock<std::mutex>& lock);
  int find(Key key) const;
  void erase(Key key);
  int total(Key key);

  const int64_t size_;
  int towers_ = 0;
  int result_ = -1;
  std::mutex mutex_;
  std::vector<AlignedBytes> buffers_;
  std::vector<int> free_;
  std::vector<std::pair<Key, int>> nodes_;  // finished nodes not yet folded; few
  std::vector<TreeAdd> adds_;
};

}  // namespace lockstep
