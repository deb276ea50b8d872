// softmax and log_softmax, and dropout: work on one line or row at a time.
#include <algorithm>
#include <cmath>

#include "lockstep/backend/onednn/loops.h"
#include "lockstep/backend/onednn/lowering.h"
#include "lockstep/backend/onednn/pointwise_kernels.h"

namespace lockstep {
namespace {

class SoftmaxStep : public Step {
 public:
  SoftmaxStep(const Shape& shape, int axis, bool is_log, int from, int to)
      : stride_(shape.strides()[static_cast<size_t>(axis)]),
        n_(shape[axis]),
        lines_(n_ == 0 ? 0 : shape.size() / n_),
        is_log_(is_log),
        exp_(point_function(PointOp::kExponential)),
        from_(from),
        to_(to) {}

  size_t scratch_bytes() const override {
    return static_cast<size_t>(n_) * 2 * sizeof(float) + 128;
  }

  void run(const Frame& frame) const override {
    auto* shifted = reinterpret_cast<float*>(frame.scratch);
    float* powers = shifted + (n_ + 15) / 16 * 16;
    for (int64_t line = 0; line < lines_; ++line) {
      const int64_t first = line / stride_ * stride_ * n_ + line % stride_;
      const float* x = frame.at<float>(from_) + first;
      float* y = frame.at<float>(to_) + first;
      float largest = -HUGE_VALF;
      for (int64_t i = 0; i < n_; ++i) largest = std::max(largest, x[i * stride_]);
      for (int64_t i = 0; i < n_; ++i) shifted[i] = x[i * stride_] - largest;
      const void* in[3] = {shifted, shifted, shifted};
      exp_(nullptr, in, powers, static_cast<size_t>(n_));
      const float sum = loops().sum_row(powers, n_);
      const float log_sum = is_log_ ? std::log(sum) : 0.0f;
      for (int64_t i = 0; i < n_; ++i)
        y[i * stride_] = is_log_ ? shifted[i] - log_sum : powers[i] / sum;
    }
  }
  std::string describe() const override {
    return fmt::format("{} {} lines of {} own", is_log_ ? "log_softmax" : "softmax", lines_, n_);
  }

 private:
  int64_t stride_, n_, lines_;
  bool is_log_;
  PointFn exp_;
  int from_, to_;
};

class DropoutStep : public FollowingStep {
 public:
  DropoutStep(const TensorType& type, const DropoutAttrs& attrs, const Layout& layout,
              std::array<int, 4> from, int to, int mask)
      : layout_(layout),
        apply_(point_function(PointOp::kDropoutGradient)),
        rows_(type.shape[0]),
        n_(type.shape.without_rows().size()),
        site_(attrs.site),
        threshold_(static_cast<uint32_t>(std::lround(65536 * attrs.rate))),
        scale_(static_cast<float>(1 / (1 - attrs.rate))),
        from_(from),
        to_(to),
        mask_(mask) {}

  Slots slots() const override {
    return {{from_[0]}, {from_[1], from_[2], from_[3]}, {to_, mask_}};
  }
  int64_t size() const override { return rows_ * n_; }
  int64_t grain() const override { return std::max(n_, int64_t{1}); }
  void prepare(const Frame&) const override {}

  void run_part(const Frame& frame, int64_t first, int64_t end) const override {
    const uint32_t* key = frame.at<uint32_t>(from_[1]);
    const uint32_t first_row = *frame.at<uint32_t>(from_[2]),
                   train_step = *frame.at<uint32_t>(from_[3]);
    const int64_t words = (n_ + 15) / 16;
    for (int64_t row = first / grain(); row * n_ < end; ++row) {
      DropoutRow r{frame.at<float>(from_[0]) + row * n_,
                   frame.at<float>(to_) + row * n_,
                   frame.at<uint16_t>(mask_) + row * words,
                   n_,
                   key[0],
                   key[1],
                   first_row + static_cast<uint32_t>(row),
                   train_step,
                   site_,
                   threshold_,
                   scale_};
      layout_.is_row_major() ? dropout_row(r) : run_blocked(r, frame.scratch);
    }
  }
  size_t scratch_bytes() const override {
    return layout_.is_row_major() ? 0 : static_cast<size_t>(n_ / 8);
  }
  std::string describe() const override {
    return fmt::format("dropout [{},{}] {} own", rows_, n_,
                       layout_.is_row_major() ? "row-major" : "blocked");
  }

 private:
  /// The mask is drawn in logical order, brought into the order of the elements, then applied.
  void run_blocked(DropoutRow row, std::byte* scratch) const {
    const float* const x = row.x;
    auto* const mask = reinterpret_cast<std::byte*>(row.mask);
    row.x = nullptr;
    row.mask = reinterpret_cast<uint16_t*>(scratch);
    dropout_row(row);
    Layout one_row = layout_;
    one_row.images = 1;
    reorder(one_row, false, static_cast<size_t>(n_ / 8), scratch, mask);
    const void* in[3] = {x, mask, mask};
    apply_(&scale_, in, row.y, static_cast<size_t>(n_));
  }

  Layout layout_;
  PointFn apply_;
  int64_t rows_, n_;
  uint32_t site_, threshold_;
  float scale_;
  std::array<int, 4> from_;
  int to_, mask_;
};

}  // namespace

void lower_rowwise(Lowering& l, const Node& node) {
  const TensorType& type = l.type(node.operands[0]);
  if (type.dtype != DType::kF32)
    unsupported("cpu", "{} of {} (layer \"{}\")", op_def(node.opcode).mnemonic, type.str(),
                node.context);
  const int from = l.read(node.operands[0]);
  l.write_in_place(node.results[0], node.operands[0]);
  l.add(std::make_unique<SoftmaxStep>(type.shape, node.as<AxisAttrs>().axis,
                                      node.opcode == Opcode::kLogSoftmax, from,
                                      l.write(node.results[0])));
}

void lower_dropout(Lowering& l, const Node& node) {
  const TensorType& type = l.type(node.operands[0]);
  if (type.dtype != DType::kF32)
    unsupported("cpu", "dropout of {} (layer \"{}\")", type.str(), node.context);
  std::array<int, 4> from{};
  const Layout layout = l.layout(node.results[0]);
  from[0] = l.read_as(node.operands[0], layout);
  for (size_t i = 1; i < 4; ++i) from[i] = l.read(node.operands[i]);
  l.write_in_place(node.results[0], node.operands[0]);
  l.add(std::make_unique<DropoutStep>(type, node.as<DropoutAttrs>(), layout, from,
                                      l.write(node.results[0]), l.write(node.results[1])));
}

}  // namespace lockstep
