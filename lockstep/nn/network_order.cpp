#include "lockstep/nn/network_order.h"

#include <algorithm>
#include <unordered_map>
#include <unordered_set>

namespace lockstep {
namespace {

using CallPtr = std::shared_ptr<LayerCall>;

/// Keras's map_graph (keras/src/ops/function.py).
class Walk {
 public:
  explicit Walk(const std::vector<Tensor>& inputs) : inputs_(inputs) {
    for (const Tensor& input : inputs) input_calls_.insert(input.producer.get());
  }

  NetworkOrder order(const std::vector<Tensor>& outputs) {
    for (const Tensor& output : outputs) visit(output.producer);
    for (auto call = sorted_.rbegin(); call != sorted_.rend(); ++call) set_depths(*call);
    add_unused_inputs();
    return {walked_layers(), layers_by_depth(), calls_by_depth()};
  }

 private:
  struct Frame {
    CallPtr call;
    size_t next_input = 0;
  };

  /// Depth first, with its own stack: models may be deeper than the thread's.
  void visit(const CallPtr& start) {
    std::vector<Frame> stack;
    enter(stack, start);
    while (!stack.empty()) {
      Frame& frame = stack.back();
      if (frame.next_input < frame.call->inputs.size()) {
        enter(stack, frame.call->inputs[frame.next_input++].producer);
      } else {
        sorted_.push_back(frame.call);
        stack.pop_back();
      }
    }
  }

  void enter(std::vector<Frame>& stack, const CallPtr& call) {
    if (!entered_.insert(call.get()).second) return;
    if (call->inputs.empty() && !input_calls_.contains(call.get()))
      invalid_argument("model", "an output depends on {}, which must be among the inputs",
                       call->layer->label());
    met_.try_emplace(call->layer.get(), static_cast<int>(met_.size()));
    stack.push_back({call});
  }

  void set_depths(const CallPtr& call) {
    int& layer_depth = layer_depths_[call->layer.get()];
    const int depth = std::max(call_depth(call), layer_depth);
    layer_depth = depth;
    call_depths_[call.get()] = depth;
    for (const Tensor& input : call->inputs) {
      int& parent = call_depth(input.producer);
      parent = std::max(parent, depth + 1);
    }
  }

  int& call_depth(const CallPtr& call) {
    const auto [it, is_new] = call_depths_.try_emplace(call.get(), 0);
    if (is_new) by_first_depth_.push_back(call);
    return it->second;
  }

  void add_unused_inputs() {
    for (const Tensor& input : inputs_) {
      const auto [it, is_new] = layer_depths_.try_emplace(input.producer->layer.get(), 0);
      if (!is_new) continue;
      met_[it->first] = -1;
      sorted_.push_back(input.producer);
    }
  }

  std::vector<LayerPtr> walked_layers() const {
    std::vector<LayerPtr> layers;
    std::unordered_set<const Layer*> seen;
    for (const CallPtr& call : sorted_)
      if (seen.insert(call->layer.get()).second) layers.push_back(call->layer);
    return layers;
  }

  std::vector<LayerPtr> layers_by_depth() const {
    std::vector<LayerPtr> layers = walked_layers();
    std::stable_sort(layers.begin(), layers.end(), [&](const LayerPtr& a, const LayerPtr& b) {
      const int depth_a = layer_depths_.at(a.get()), depth_b = layer_depths_.at(b.get());
      return depth_a != depth_b ? depth_a > depth_b : met_.at(a.get()) < met_.at(b.get());
    });
    return layers;
  }

  std::vector<CallPtr> calls_by_depth() const {
    std::vector<CallPtr> calls;
    for (const CallPtr& call : by_first_depth_)
      if (!call->inputs.empty()) calls.push_back(call);
    std::stable_sort(calls.begin(), calls.end(), [&](const CallPtr& a, const CallPtr& b) {
      return call_depths_.at(a.get()) > call_depths_.at(b.get());
    });
    return calls;
  }

  const std::vector<Tensor>& inputs_;
  std::unordered_set<const LayerCall*> input_calls_, entered_;
  std::vector<CallPtr> sorted_;  // inputs of a call before it
  std::unordered_map<const Layer*, int> met_;
  std::unordered_map<const LayerCall*, int> call_depths_;
  std::vector<CallPtr> by_first_depth_;  // in the order in which they got a depth
  std::unordered_map<const Layer*, int> layer_depths_;
};

}  // namespace

NetworkOrder network_order(const std::vector<Tensor>& inputs, const std::vector<Tensor>& outputs) {
  return Walk(inputs).order(outputs);
}

}  // namespace lockstep
