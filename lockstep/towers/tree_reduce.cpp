#include "lockstep/towers/tree_reduce.h"

#include <algorithm>
#include <bit>

namespace lockstep {

void add_into(float* __restrict to, const float* __restrict from, int64_t n) {
  for (int64_t i = 0; i < n; ++i) to[i] += from[i];
}

void add_four(float* __restrict a, const float* __restrict b, const float* __restrict c,
              const float* __restrict d, int64_t n) {
  for (int64_t i = 0; i < n; ++i) a[i] = (a[i] + b[i]) + (c[i] + d[i]);
}

float tree_sum(std::span<const float> values) {
  if (values.size() < 2) return values.empty() ? 0.0f : values[0];
  const size_t left = std::bit_floor(values.size() - 1);
  return tree_sum(values.first(left)) + tree_sum(values.subspan(left));
}

TreeFold::TreeFold(int64_t size, int planned) : size_(size) {
  for (int i = 0; i < planned; ++i) buffers_.emplace_back(static_cast<size_t>(size) * 4);
  nodes_.reserve(64);
  free_.reserve(64);
  adds_.reserve(64);
}

size_t TreeFold::size_bytes() const {
  return buffers_.size() * static_cast<size_t>(size_) * 4;
}

void TreeFold::begin(int towers) {
  towers_ = towers;
  result_ = -1;
  nodes_.clear();
  free_.clear();
  for (int i = static_cast<int>(buffers_.size()) - 1; i >= 0; --i) free_.push_back(i);
}

int TreeFold::find(Key key) const {
  for (const auto& [node, buffer] : nodes_)
    if (node == key) return buffer;
  return -1;
}

void TreeFold::erase(Key key) {
  const auto it = std::find_if(nodes_.begin(), nodes_.end(),
                               [&](const auto& entry) { return entry.first == key; });
  *it = nodes_.back();
  nodes_.pop_back();
}

TreeFold::Buffer TreeFold::acquire() {
  std::unique_lock lock(mutex_);
  while (free_.empty() && fold_pair(lock)) {
  }
  if (free_.empty()) {
    buffers_.emplace_back(static_cast<size_t>(size_) * 4);
    free_.push_back(static_cast<int>(buffers_.size()) - 1);
  }
  const int id = free_.back();
  free_.pop_back();
  return {id, data(id)};
}

bool TreeFold::fold_pair(std::unique_lock<std::mutex>& lock) {
  for (const auto& [key, buffer] : nodes_) {
    const Key left = key;
    const Key right{key.first, key.second + 1};
    if (key.second % 2 != 0) continue;
    const int from = find(right);
    if (from < 0) continue;
    const int to = buffer;
    float *to_data = data(to), *from_data = data(from);
    erase(left);
    erase(right);
    lock.unlock();
    add_into(to_data, from_data, size_);
    lock.lock();
    nodes_.push_back({{left.first + 1, left.second / 2}, to});
    free_.push_back(from);
    return true;
  }
  return false;
}

bool TreeFold::take_four(Key key, int (&four)[4]) {
  const int base = key.second / 4 * 4;
  for (int i = 0; i < 4; ++i) {
    four[i] = find({key.first, base + i});
    if (four[i] < 0) return false;
  }
  for (int i = 0; i < 4; ++i) erase({key.first, base + i});
  return true;
}

void TreeFold::deposit(int tower, int buffer) {
  Key key{0, tower};
  std::unique_lock lock(mutex_);
  for (;;) {
    nodes_.push_back({key, buffer});
    int four[4];
    if (!take_four(key, four)) return;
    float* parts[4] = {data(four[0]), data(four[1]), data(four[2]), data(four[3])};
    lock.unlock();
    add_four(parts[0], parts[1], parts[2], parts[3], size_);
    lock.lock();
    for (int i = 1; i < 4; ++i) free_.push_back(four[i]);
    key = {key.first + 2, key.second / 4};
    buffer = four[0];
  }
}

int TreeFold::total(Key key) {
  const int whole = find(key);
  if (whole >= 0) return whole;
  LOCKSTEP_CHECK(key.first > 0);
  const int left = total({key.first - 1, key.second * 2});
  const Key right{key.first - 1, key.second * 2 + 1};
  if (exists(right)) adds_.push_back({left, total(right)});
  return left;
}

void TreeFold::plan_remaining() {
  adds_.clear();
  int level = 0;
  while ((int64_t{1} << level) < towers_) ++level;
  // A fold by four may have passed the root's level; the node covers everything all the same.
  for (const auto& [key, buffer] : nodes_) level = std::max(level, key.first);
  result_ = total({level, 0});
}

}  // namespace lockstep
