#include "lockstep/towers/resident_programs.h"

#include <algorithm>
#include <numeric>

#include "lockstep/ir/builder.h"

namespace lockstep {
namespace {

TensorType vector_type(int64_t size) {
  return {DType::kF32, {size}};
}

}  // namespace

int64_t joined_size(std::span<const int64_t> sizes) {
  return std::max<int64_t>(1, std::accumulate(sizes.begin(), sizes.end(), int64_t{0}));
}

std::unique_ptr<Graph> add_graph(std::span<const int64_t> sizes) {
  auto graph = std::make_unique<Graph>();
  Builder b(*graph);
  std::vector<Value> left, right;
  for (int64_t size : sizes) left.push_back(b.parameter(vector_type(size), "left"));
  for (int64_t size : sizes) right.push_back(b.parameter(vector_type(size), "right"));
  for (size_t i = 0; i < left.size(); ++i) graph->add_result(b.add(left[i], right[i]));
  return graph;
}

std::unique_ptr<Graph> scatter_graph(std::span<const int64_t> sizes, std::span<const int> owners,
                                     int devices) {
  auto graph = std::make_unique<Graph>();
  Builder b(*graph);
  std::vector<std::vector<Value>> owned(static_cast<size_t>(devices));
  for (size_t i = 0; i < sizes.size(); ++i)
    owned[static_cast<size_t>(owners[i])].push_back(b.parameter(vector_type(sizes[i]), "sums"));
  for (const std::vector<Value>& values : owned)
    graph->add_result(values.empty() ? b.constant(0.0, vector_type(1)) : b.concatenate(values, 0));
  return graph;
}

std::unique_ptr<Graph> split_graph(std::span<const int64_t> sizes) {
  auto graph = std::make_unique<Graph>();
  Builder b(*graph);
  const Value joined = b.parameter(vector_type(joined_size(sizes)), "joined");
  int64_t begin = 0;
  for (int64_t size : sizes) {
    graph->add_result(b.slice(joined, {begin}, {begin + size}, {1}));
    begin += size;
  }
  return graph;
}

}  // namespace lockstep
