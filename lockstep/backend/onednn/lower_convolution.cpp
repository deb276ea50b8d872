// Convolutions as oneDNN primitives over blocked images where channels allow it, else over NHWC.
// The kernel is reordered to the layout the primitive likes and its gradient back, each time: 2 *
// rows * pixels times less work than the convolution itself. By loops of our own where there are
// any.
#include <omp.h>

#include <algorithm>
#include <unordered_map>

#include "lockstep/backend/onednn/compat.h"
#include "lockstep/backend/onednn/convolution.h"
#include "lockstep/ir/flops.h"

namespace lockstep {
namespace {

using dnnl::algorithm;
using dnnl::memory;
using dnnl::prop_kind;

const dnnl::engine& cpu_engine() {
  static const dnnl::engine engine(dnnl::engine::kind::cpu, 0);
  return engine;
}

/// The three tensors of a convolution as oneDNN describes them.
struct ConvTensors {
  memory::desc x, y, bias;
  memory::desc kernel_any, kernel_plain;  // whatever layout; HWIO as the graph holds it
  memory::dims strides, dilation, pad_low, pad_high;
  int64_t channels;  // of the images in, in one group
};

memory::desc images(const Shape& s, int64_t block) {
  using Tag = memory::format_tag;
  const Tag tag = block == 16  ? Tag::nChw16c
                  : block == 8 ? Tag::nChw8c
                  : block == 1 ? Tag::nchw
                               : Tag::nhwc;
  return {{s[0], s[3], s[1], s[2]}, memory::data_type::f32, tag};
}

ConvTensors describe(const ConvShapes& shapes, const ConvBlocks& blocks) {
  const auto& [x, kernel, y, a] = shapes;
  ConvTensors t;
  t.x = images(x, blocks.x);
  t.y = images(y, blocks.y);
  const int64_t g = a.groups, in = kernel[2], out = kernel[3] / g, row = kernel[1] * in * kernel[3],
                column = in * kernel[3];
  memory::dims dims{out, in, kernel[0], kernel[1]}, steps{1, kernel[3], row, column};
  if (g > 1) {
    dims.insert(dims.begin(), g);
    steps.insert(steps.begin(), out);
  }
  t.kernel_plain = {dims, memory::data_type::f32, steps};
  t.kernel_any = {dims, memory::data_type::f32, memory::format_tag::any};
  t.bias = {{kernel[3]}, memory::data_type::f32, memory::format_tag::x};
  t.channels = kernel[2];
  t.strides = {a.strides[0], a.strides[1]};
  t.dilation = {a.dilation[0] - 1, a.dilation[1] - 1};
  t.pad_low = {a.pad_low[0], a.pad_low[1]};
  t.pad_high = {a.pad_high[0], a.pad_high[1]};
  return t;
}

dnnl::primitive_attr user_scratchpad() {
  dnnl::primitive_attr attr;
  attr.set_scratchpad_mode(dnnl::scratchpad_mode::user);
  return attr;
}

/// Arguments of a primitive as oneDNN's C function takes them: the C++ `execute` makes such an
/// array at every call.
using Arguments = std::vector<dnnl_exec_arg_t>;

void execute(const dnnl::primitive& primitive, const dnnl::stream& stream,
             const Arguments& arguments) {
  dnnl::error::wrap_c_api(
      dnnl_primitive_execute(primitive.get(), stream.get(), static_cast<int>(arguments.size()),
                             arguments.data()),
      "a primitive could not be executed");
}

/// A primitive with, before or after it, a reorder between the graph's kernel and the primitive's.
class ConvStep : public Step {
 public:
  enum class Reorder { kBefore, kAfter };
  struct Binding {
    int argument;
    int slot;
    memory::desc desc;
  };

  template <class PrimitiveDesc>
  ConvStep(std::string what, double flops, const PrimitiveDesc& desc, dnnl::primitive primitive,
           std::vector<Binding> bindings, int kernel_argument, int kernel_slot,
           memory::desc kernel_plain, memory::desc kernel_packed, Reorder reorder)
      : flops_(flops),
        primitive_(std::move(primitive)),
        bindings_(std::move(bindings)),
        kernel_argument_(kernel_argument),
        kernel_slot_(kernel_slot),
        kernel_plain_(kernel_plain),
        kernel_packed_(kernel_packed),
        when_(reorder),
        scratchpad_(desc.scratchpad_desc()) {
    const dnnl::primitive_attr attr = user_scratchpad();
    const bool packs = reorder == Reorder::kBefore;
    const dnnl::reorder::primitive_desc reorder_desc(
        cpu_engine(), packs ? kernel_plain : kernel_packed, cpu_engine(),
        packs ? kernel_packed : kernel_plain, attr);
    reorder_ = dnnl::reorder(reorder_desc);
    reorder_scratchpad_ = reorder_desc.scratchpad_desc();
    what_ = fmt::format("{} {}", what, desc.impl_info_str());
  }

  size_t scratch_bytes() const override {
    return round_up(kernel_packed_.get_size()) +
           round_up(std::max(scratchpad_.get_size(), reorder_scratchpad_.get_size()));
  }

  struct State : StepState {
    dnnl::stream stream{cpu_engine()};
    Arguments arguments, reorder_arguments;
    std::vector<std::pair<memory, int>> slots;  // rebound at every run
    memory packed, plain, scratchpad, reorder_scratchpad;
  };

  std::unique_ptr<StepState> create_state() const override {
    auto state = std::make_unique<State>();
    const auto make = [](const memory::desc& desc) { return memory(desc, cpu_engine(), nullptr); };
    state->packed = make(kernel_packed_);
    state->plain = make(kernel_plain_);
    state->scratchpad = make(scratchpad_);
    state->reorder_scratchpad = make(reorder_scratchpad_);
    for (const Binding& binding : bindings_) {
      const memory m = make(binding.desc);
      state->slots.emplace_back(m, binding.slot);
      state->arguments.push_back({binding.argument, m.get()});
    }
    state->slots.emplace_back(state->plain, kernel_slot_);
    state->arguments.push_back({kernel_argument_, state->packed.get()});
    state->arguments.push_back({DNNL_ARG_SCRATCHPAD, state->scratchpad.get()});
    const bool packs = when_ == Reorder::kBefore;
    state->reorder_arguments = {{DNNL_ARG_FROM, (packs ? state->plain : state->packed).get()},
                                {DNNL_ARG_TO, (packs ? state->packed : state->plain).get()},
                                {DNNL_ARG_SCRATCHPAD, state->reorder_scratchpad.get()}};
    return state;
  }

  void run(const Frame& frame) const override {
    auto& s = static_cast<State&>(*frame.state);
    for (auto& [m, slot] : s.slots) m.set_data_handle(frame.slots[slot]);
    s.packed.set_data_handle(frame.scratch);
    std::byte* pad = frame.scratch + round_up(kernel_packed_.get_size());
    s.scratchpad.set_data_handle(pad);
    s.reorder_scratchpad.set_data_handle(pad);
    if (when_ == Reorder::kBefore) execute(reorder_, s.stream, s.reorder_arguments);
    execute(primitive_, s.stream, s.arguments);
    if (when_ == Reorder::kAfter) execute(reorder_, s.stream, s.reorder_arguments);
  }

  std::string describe() const override { return what_; }
  double flops() const override { return flops_; }

 private:
  static size_t round_up(size_t bytes) { return (bytes + 63) / 64 * 64; }

  double flops_;
  dnnl::primitive primitive_, reorder_;
  std::vector<Binding> bindings_;
  int kernel_argument_, kernel_slot_;
  memory::desc kernel_plain_, kernel_packed_;
  Reorder when_;
  memory::desc scratchpad_, reorder_scratchpad_;
  std::string what_;
};

dnnl::convolution_forward::primitive_desc forward_desc(const ConvTensors& t, bool has_bias,
                                                       const dnnl::primitive_attr& attr) {
  using P = dnnl::convolution_forward;
  return has_bias ? compat::describe<P>(cpu_engine(), attr, prop_kind::forward_training,
                                        algorithm::convolution_direct, t.x, t.kernel_any, t.bias,
                                        t.y, t.strides, t.dilation, t.pad_low, t.pad_high)
                  : compat::describe<P>(cpu_engine(), attr, prop_kind::forward_training,
                                        algorithm::convolution_direct, t.x, t.kernel_any, t.y,
                                        t.strides, t.dilation, t.pad_low, t.pad_high);
}

dnnl::convolution_backward_data::primitive_desc input_gradient_desc(const ConvTensors& t) {
  return compat::describe_hinted<dnnl::convolution_backward_data>(
      cpu_engine(), user_scratchpad(), forward_desc(t, false, {}), algorithm::convolution_direct,
      t.x, t.kernel_any, t.y, t.strides, t.dilation, t.pad_low, t.pad_high);
}

dnnl::convolution_backward_weights::primitive_desc kernel_gradient_desc(const ConvTensors& t,
                                                                        bool has_bias) {
  using P = dnnl::convolution_backward_weights;
  const auto hint = forward_desc(t, has_bias, {});
  // With a stride and fewer channels than a vector holds, oneDNN's 1x1 kernel writes past its
  // scratchpad (github.com/uxlfoundation/oneDNN/issues/6035).
  const bool is_strided = t.strides[0] > 1 || t.strides[1] > 1;
  const auto accepts = [&](const P::primitive_desc& desc) {
    return !is_strided || t.channels >= 16 ||
           std::string(desc.impl_info_str()).find("1x1") == std::string::npos;
  };
  return has_bias
             ? compat::describe_accepted<P>(
                   cpu_engine(), user_scratchpad(), hint, accepts, algorithm::convolution_direct,
                   t.x, t.kernel_any, t.bias, t.y, t.strides, t.dilation, t.pad_low, t.pad_high)
             : compat::describe_accepted<P>(cpu_engine(), user_scratchpad(), hint, accepts,
                                            algorithm::convolution_direct, t.x, t.kernel_any, t.y,
                                            t.strides, t.dilation, t.pad_low, t.pad_high);
}

/// Name of the kernel oneDNN has for these layouts; "" where it has none.
std::string kernel_name(Opcode opcode, const ConvTensors& t) {
  try {
    switch (opcode) {
      case Opcode::kConv2d:
        return forward_desc(t, false, user_scratchpad()).impl_info_str();
      case Opcode::kConv2dInputGradient:
        return input_gradient_desc(t).impl_info_str();
      default:
        return kernel_gradient_desc(t, false).impl_info_str();
    }
  } catch (const dnnl::error&) {
    return "";
  }
}

/// Neither oneDNN's reference loops nor its detour by im2col and a general product.
bool is_fast(const std::string& kernel) {
  return !kernel.empty() && kernel.find("ref") == std::string::npos &&
         kernel.find("gemm") == std::string::npos;
}

const Node* bias_source(const Lowering& l, const Node& add, int conv_value) {
  const int other = add.operands[0] == conv_value ? add.operands[1] : add.operands[0];
  const Node& broadcast = l.graph().producer(other);
  if (broadcast.opcode != Opcode::kBroadcastInDim) return nullptr;
  const Shape& bias = l.type(broadcast.operands[0]).shape;
  const bool is_channels = bias.rank() == 1 && bias[0] == l.type(conv_value).shape.back() &&
                           broadcast.as<BroadcastAttrs>().dimensions == Dims{3} &&
                           bias[0] == l.type(other).shape.back();
  return is_channels ? &broadcast : nullptr;
}

bool is_fusable_activation(Opcode opcode) {
  return opcode == Opcode::kRelu || opcode == Opcode::kElu || opcode == Opcode::kTanh ||
         opcode == Opcode::kLogistic;
}

void append_activation(dnnl::post_ops& ops, const Node& node) {
  switch (node.opcode) {
    case Opcode::kRelu:
      compat::append_eltwise(ops, algorithm::eltwise_relu, 0.0f, 0.0f);
      return;
    case Opcode::kTanh:
      compat::append_eltwise(ops, algorithm::eltwise_tanh, 0.0f, 0.0f);
      return;
    case Opcode::kLogistic:
      compat::append_eltwise(ops, algorithm::eltwise_logistic, 0.0f, 0.0f);
      return;
    default: {
      const auto& elu = node.as<EluAttrs>();
      compat::append_scaled_elu(ops, static_cast<float>(elu.scale), static_cast<float>(elu.alpha));
    }
  }
}

void lower_forward(Lowering& l, const Node& node) {
  const ConvShapes shapes = shapes_of(l, node);
  const ConvBlocks blocks = choose_convolution_blocks(l, node);
  const ConvTensors t = describe(shapes, blocks);
  dnnl::primitive_attr attr = user_scratchpad();
  const auto [bias, activation, result] = epilogue_of(l, node);
  if (activation != nullptr) {
    dnnl::post_ops ops;
    append_activation(ops, *activation);
    attr.set_post_ops(ops);
  }
  const auto desc = forward_desc(t, bias != nullptr, attr);
  std::vector<ConvStep::Binding> bindings{
      {DNNL_ARG_SRC, l.read_as(node.operands[0], image_layout(shapes.x, blocks.x)), t.x}};
  if (bias != nullptr) bindings.push_back({DNNL_ARG_BIAS, l.read(bias->operands[0]), t.bias});
  const int kernel = l.read(node.operands[1]);
  bindings.push_back({DNNL_ARG_DST, l.write(result), t.y});
  l.add(std::make_unique<ConvStep>(
      fmt::format("conv2d {}", l.type(result).str()), contraction_flops(l.graph(), node), desc,
      dnnl::convolution_forward(desc), bindings, DNNL_ARG_WEIGHTS, kernel, t.kernel_plain,
      desc.weights_desc(), ConvStep::Reorder::kBefore));
}

void lower_input_gradient(Lowering& l, const Node& node) {
  const ConvShapes shapes = shapes_of(l, node);
  const ConvBlocks blocks = choose_convolution_blocks(l, node);
  const ConvTensors t = describe(shapes, blocks);
  const auto desc = input_gradient_desc(t);
  const int dy = l.read_as(node.operands[0], image_layout(shapes.y, blocks.y)),
            kernel = l.read(node.operands[1]);
  l.add(std::make_unique<ConvStep>(
      fmt::format("conv2d_input_gradient {}", l.type(node.results[0]).str()),
      contraction_flops(l.graph(), node), desc, dnnl::convolution_backward_data(desc),
      std::vector<ConvStep::Binding>{{DNNL_ARG_DIFF_DST, dy, t.y},
                                     {DNNL_ARG_DIFF_SRC, l.write(node.results[0]), t.x}},
      DNNL_ARG_WEIGHTS, kernel, t.kernel_plain, desc.weights_desc(), ConvStep::Reorder::kBefore));
}

void lower_kernel_gradient(Lowering& l, const Node& node) {
  const ConvShapes shapes = shapes_of(l, node);
  const ConvBlocks blocks = choose_convolution_blocks(l, node);
  const Node* bias = nullptr;
  for (int id : l.unit().nodes)
    if (l.graph().node(id).opcode == Opcode::kReduceSum) bias = &l.graph().node(id);
  const std::string what = fmt::format("conv2d_kernel_gradient {}", l.type(node.results[0]).str());
  const double flops = contraction_flops(l.graph(), node);
  const int x = l.read_as(node.operands[0], image_layout(shapes.x, blocks.x)),
            dy = l.read_as(node.operands[1], image_layout(shapes.y, blocks.y));
  std::optional<int> dbias;
  if (bias != nullptr) dbias = l.write(bias->results[0]);
  const int dkernel = l.write(node.results[0]);
  const ConvTensors t = describe(shapes, blocks);
  const auto desc = kernel_gradient_desc(t, bias != nullptr);
  std::vector<ConvStep::Binding> bindings{{DNNL_ARG_SRC, x, t.x}, {DNNL_ARG_DIFF_DST, dy, t.y}};
  if (dbias) bindings.push_back({DNNL_ARG_DIFF_BIAS, *dbias, t.bias});
  l.add(std::make_unique<ConvStep>(what, flops, desc, dnnl::convolution_backward_weights(desc),
                                   bindings, DNNL_ARG_DIFF_WEIGHTS, dkernel, t.kernel_plain,
                                   desc.diff_weights_desc(), ConvStep::Reorder::kAfter));
}

}  // namespace

ConvShapes shapes_of(const Lowering& l, const Node& node) {
  const Shape &a = l.type(node.operands[0]).shape, &b = l.type(node.operands[1]).shape,
              &c = l.type(node.results[0]).shape;
  const auto& attrs = node.as<ConvAttrs>();
  switch (node.opcode) {
    case Opcode::kConv2d:
      return {a, b, c, attrs};
    case Opcode::kConv2dInputGradient:
      return {c, b, a, attrs};
    default:
      return {a, c, b, attrs};
  }
}

ConvEpilogue epilogue_of(const Lowering& l, const Node& conv) {
  ConvEpilogue epilogue{nullptr, nullptr, conv.results[0]};
  for (int id : l.unit().nodes) {
    const Node& member = l.graph().node(id);
    if (member.opcode == Opcode::kAdd) epilogue.bias = bias_source(l, member, epilogue.result);
    if (is_fusable_activation(member.opcode)) epilogue.activation = &member;
    epilogue.result = member.results[0];
  }
  return epilogue;
}

ConvBlocks choose_convolution_blocks(const Lowering& l, const Node& node) {
  const ConvShapes shapes = shapes_of(l, node);
  if (l.type(node.operands[0]).dtype != DType::kF32) return {};
  const int64_t block = native_block(), groups = shapes.attrs.groups;
  const auto fits = [&](int64_t channels) {
    const int64_t in_group = channels / groups;
    return channels % block == 0 && (in_group % block == 0 || in_group == 1);
  };
  const int64_t x = fits(shapes.x[3]) ? block : 0, y = fits(shapes.y[3]) ? block : 0;
  if (has_loops(node.opcode, shapes)) return {x, y};
  std::vector<ConvBlocks> candidates{{x, y}};
  // Few channels, as in a network's first images: channel planes are what the kernels take.
  if (x == 0 && node.opcode != Opcode::kConv2dInputGradient) candidates.push_back({1, y});
  candidates.push_back({0, 0});
  for (const ConvBlocks& blocks : candidates)
    if (is_fast(kernel_name(node.opcode, describe(shapes, blocks)))) return blocks;
  return {};
}

bool awaits_convolution(const Lowering& l, const Node& node) {
  if (node.opcode != Opcode::kReduceSum || node.as<AxesAttrs>().axes != Dims{0, 1, 2}) return false;
  const auto& users = l.users(node.operands[0]);
  return std::any_of(users.begin(), users.end(), [&](int id) {
    const Node& user = l.graph().node(id);
    // Images computed before the sum cannot depend on it.
    return user.opcode == Opcode::kConv2dKernelGradient && user.operands[1] == node.operands[0] &&
           id > node.id && l.is_free(id) && l.graph().producer(user.operands[0]).id < node.id;
  });
}

void absorb_into_convolution(Lowering& l, const Node& node, int unit) {
  if (node.opcode == Opcode::kConv2dKernelGradient) {
    for (int user : l.users(node.operands[1])) {
      const Node& sum = l.graph().node(user);
      if (sum.opcode == Opcode::kReduceSum && l.is_free(user) &&
          sum.as<AxesAttrs>().axes == Dims{0, 1, 2}) {
        l.absorb(user, unit);
        return;
      }
    }
    return;
  }
  int value = node.results[0];
  if (const Node* add = l.only_user(value);
      add && add->opcode == Opcode::kAdd && bias_source(l, *add, value)) {
    l.absorb(add->id, unit);
    value = add->results[0];
  }
  if (const Node* activation = l.only_user(value);
      activation && is_fusable_activation(activation->opcode))
    l.absorb(activation->id, unit);
}

void lower_convolution(Lowering& l, const Node& node) {
  const TensorType& type = l.type(node.operands[0]);
  if (type.dtype != DType::kF32)
    unsupported("cpu", "{} of {} (layer \"{}\")", op_def(node.opcode).mnemonic, type.str(),
                node.context);
  if (has_loops(node.opcode, shapes_of(l, node))) {
    lower_by_loops(l, node);
    return;
  }
  try {
    switch (node.opcode) {
      case Opcode::kConv2d:
        lower_forward(l, node);
        return;
      case Opcode::kConv2dInputGradient:
        lower_input_gradient(l, node);
        return;
      default:
        lower_kernel_gradient(l, node);
    }
  } catch (const dnnl::error& error) {
    fail(ErrorCode::kInternal, "oneDNN", "{} (status {}) for {} {} (layer \"{}\")", error.what(),
         static_cast<int>(error.status), op_def(node.opcode).mnemonic, type.str(), node.context);
  }
}

}  // namespace lockstep
