// Convolutions by loops of our own, wherever a machine and shapes allow them: nothing else decides.
#include "lockstep/backend/onednn/convolution.h"
#include "lockstep/backend/onednn/direct_convolution.h"
#include "lockstep/backend/onednn/kernel_gradient.h"
#include "lockstep/backend/onednn/winograd.h"
#include "lockstep/ir/flops.h"

namespace lockstep {
namespace {

class ConvolutionStep : public LeadingStep {
 public:
  /// Slots and, where there is one, the function of the sums.
  struct Operands {
    int source, kernel, target;
    std::optional<int> bias;
    std::optional<PointCall> activation;
  };
  ConvolutionStep(std::string what, double flops, std::unique_ptr<ConvolutionLoops> convolution,
                  Operands operands)
      : what_(std::move(what)),
        flops_(flops),
        convolution_(std::move(convolution)),
        operands_(operands) {}
  size_t scratch_bytes() const override { return convolution_->scratch_bytes(); }
  std::vector<int> slots_read() const override {
    std::vector<int> slots{operands_.source, operands_.kernel};
    if (operands_.bias) slots.push_back(*operands_.bias);
    return slots;
  }
  int target() const override { return operands_.target; }
  int64_t size() const override { return convolution_->images() * grain(); }
  int64_t grain() const override { return convolution_->target_image(); }
  void run_parts(const Frame& frame, const Completed& completed) const override {
    ConvolutionLoops::Epilogue epilogue{completed};
    if (operands_.bias) epilogue.bias = frame.at<float>(*operands_.bias);
    if (operands_.activation) {
      epilogue.activation = operands_.activation->function;
      epilogue.params = operands_.activation->params.data();
    }
    convolution_->run(frame.at<float>(operands_.source), frame.at<float>(operands_.kernel),
                      epilogue, frame.at<float>(operands_.target),
                      reinterpret_cast<float*>(frame.scratch));
  }
  std::string describe() const override { return what_ + " own " + convolution_->name(); }
  double flops() const override { return flops_; }

 private:
  std::string what_;
  double flops_;
  std::unique_ptr<ConvolutionLoops> convolution_;
  Operands operands_;
};

class KernelGradientStep : public Step {
 public:
  KernelGradientStep(std::string what, double flops, std::unique_ptr<KernelGradientLoops> gradient,
                     int x, int dy, int dkernel, std::optional<int> dbias)
      : what_(std::move(what)),
        flops_(flops),
        gradient_(std::move(gradient)),
        x_(x),
        dy_(dy),
        dkernel_(dkernel),
        dbias_(dbias) {}
  size_t scratch_bytes() const override { return gradient_->scratch_bytes(); }
  void run(const Frame& frame) const override {
    gradient_->run(frame.at<float>(x_), frame.at<float>(dy_), frame.at<float>(dkernel_),
                   dbias_ ? frame.at<float>(*dbias_) : nullptr,
                   reinterpret_cast<float*>(frame.scratch));
  }
  std::string describe() const override { return what_ + " own " + gradient_->name(); }
  double flops() const override { return flops_; }

 private:
  std::string what_;
  double flops_;
  std::unique_ptr<KernelGradientLoops> gradient_;
  int x_, dy_, dkernel_;
  std::optional<int> dbias_;
};

ConvolutionGeometry geometry_of(const ConvShapes& shapes, const ConvBlocks& blocks) {
  const auto& [x, kernel, y, a] = shapes;
  const int64_t in_block = blocks.x == 0 ? x[3] : blocks.x;
  return {.images = x[0],
          .in_groups = x[3] / in_block,
          .height = x[1],
          .width = x[2],
          .in_block = in_block,
          .out_groups = y[3] / blocks.y,
          .out_height = y[1],
          .out_width = y[2],
          .kernel_height = kernel[0],
          .kernel_width = kernel[1],
          .strides = {a.strides[0], a.strides[1]},
          .dilation = {a.dilation[0], a.dilation[1]},
          .pad_low = {a.pad_low[0], a.pad_low[1]},
          .pad_high = {a.pad_high[0], a.pad_high[1]}};
}

std::unique_ptr<ConvolutionLoops> convolution_loops(const ConvolutionGeometry& geometry,
                                                    ConvolutionDirection direction) {
  if (is_winograd_worthwhile(geometry))
    return std::make_unique<WinogradConvolution>(geometry, direction);
  return std::make_unique<DirectConvolution>(geometry, direction);
}

std::unique_ptr<KernelGradientLoops> kernel_gradient_loops(const ConvolutionGeometry& geometry) {
  if (is_winograd_worthwhile(geometry)) return std::make_unique<WinogradKernelGradient>(geometry);
  return std::make_unique<KernelGradient>(geometry);
}

std::string name_of(const Lowering& l, const Node& node, int result) {
  return fmt::format("{} {}", op_def(node.opcode).mnemonic, l.type(result).str());
}

void lower_kernel_gradient(Lowering& l, const Node& node, const ConvShapes& shapes,
                           const ConvBlocks& blocks) {
  const int x = l.read_as(node.operands[0], image_layout(shapes.x, blocks.x)),
            dy = l.read_as(node.operands[1], image_layout(shapes.y, blocks.y));
  std::optional<int> dbias;
  for (int id : l.unit().nodes)
    if (const Node& sum = l.graph().node(id); sum.opcode == Opcode::kReduceSum)
      dbias = l.write(sum.results[0]);
  const int dkernel = l.write(node.results[0]);
  l.add(std::make_unique<KernelGradientStep>(
      name_of(l, node, node.results[0]), contraction_flops(l.graph(), node),
      kernel_gradient_loops(geometry_of(shapes, blocks)), x, dy, dkernel, dbias));
}

void lower_direct(Lowering& l, const Node& node, const ConvShapes& shapes,
                  const ConvBlocks& blocks) {
  const bool is_forward = node.opcode == Opcode::kConv2d;
  const Layout source =
      is_forward ? image_layout(shapes.x, blocks.x) : image_layout(shapes.y, blocks.y);
  ConvolutionStep::Operands operands{};
  operands.source = l.read_as(node.operands[0], source);
  operands.kernel = l.read(node.operands[1]);
  int result = node.results[0];
  if (is_forward) {
    const ConvEpilogue epilogue = epilogue_of(l, node);
    if (epilogue.bias != nullptr) operands.bias = l.read(epilogue.bias->operands[0]);
    if (epilogue.activation != nullptr)
      operands.activation = point_call(l.graph(), *epilogue.activation);
    result = epilogue.result;
  }
  operands.target = l.write(result);
  l.add(std::make_unique<ConvolutionStep>(
      name_of(l, node, result), contraction_flops(l.graph(), node),
      convolution_loops(geometry_of(shapes, blocks), is_forward
                                                         ? ConvolutionDirection::kForward
                                                         : ConvolutionDirection::kInputGradient),
      operands));
}

}  // namespace

bool has_loops(Opcode opcode, const ConvShapes& shapes) {
  const int64_t in = shapes.x[3], out = shapes.y[3];
  if (shapes.attrs.groups != 1 || native_block() != kLanes || vector_floats() != kLanes ||
      out % kLanes != 0)
    return false;
  if (opcode == Opcode::kConv2dKernelGradient) return out > kLanes;
  return in % kLanes == 0;
}

void lower_by_loops(Lowering& l, const Node& node) {
  const ConvShapes shapes = shapes_of(l, node);
  const ConvBlocks blocks = choose_convolution_blocks(l, node);
  if (node.opcode == Opcode::kConv2dKernelGradient)
    lower_kernel_gradient(l, node, shapes, blocks);
  else
    lower_direct(l, node, shapes, blocks);
}

}  // namespace lockstep
