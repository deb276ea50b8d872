// dot_general as matrix products: batch x [m, k] by [k, n].
#include <oneapi/dnnl/dnnl.h>

#include <algorithm>
#include <cstring>

#include "lockstep/backend/onednn/lowering.h"
#include "lockstep/backend/onednn/skinny_dot.h"

namespace lockstep {
namespace {

/// How one operand is read as a batch of matrices.
struct MatrixView {
  bool is_transposed = false;  // stored [contracting, free]
  bool is_copied = false;      // permuted into scratch first
  Dims extents, strides;       // of the copy: result order batch, free, contracting
};

Dims free_axes(const Shape& shape, const Dims& batch, const Dims& contracting) {
  Dims free;
  for (int axis = 0; axis < shape.rank(); ++axis)
    if (std::find(batch.begin(), batch.end(), axis) == batch.end() &&
        std::find(contracting.begin(), contracting.end(), axis) == contracting.end())
      free.push_back(axis);
  return free;
}

bool is_ascending_from_zero(const Dims& a, const Dims& b, const Dims& c) {
  int64_t next = 0;
  for (const Dims* axes : {&a, &b, &c})
    for (int64_t axis : *axes)
      if (axis != next++) return false;
  return true;
}

MatrixView view_of(const Shape& shape, const Dims& batch, const Dims& free,
                   const Dims& contracting) {
  MatrixView view;
  if (is_ascending_from_zero(batch, free, contracting)) return view;
  if (is_ascending_from_zero(batch, contracting, free)) {
    view.is_transposed = true;
    return view;
  }
  view.is_copied = true;
  const Dims strides = shape.strides();
  for (const Dims* axes : {&batch, &free, &contracting})
    for (int64_t axis : *axes) {
      view.extents.push_back(shape[static_cast<int>(axis)]);
      view.strides.push_back(strides[static_cast<size_t>(axis)]);
    }
  return view;
}

void gather(const MatrixView& view, size_t axis, const float* from, float*& to) {
  if (axis == view.extents.size()) {
    *to++ = *from;
    return;
  }
  for (int64_t i = 0; i < view.extents[axis]; ++i)
    gather(view, axis + 1, from + i * view.strides[axis], to);
}

int64_t product(const Shape& shape, const Dims& axes) {
  int64_t n = 1;
  for (int64_t axis : axes) n *= shape[static_cast<int>(axis)];
  return n;
}

/// dot_general as the product of two batches of matrices.
struct DotShape {
  int64_t batch, m, n, k;
  MatrixView lhs, rhs;
  SkinnyForm form;
};

DotShape dot_shape(const Lowering& l, const Node& node) {
  const auto& a = node.as<DotAttrs>();
  const Shape &lhs = l.type(node.operands[0]).shape, &rhs = l.type(node.operands[1]).shape;
  const Dims lhs_free = free_axes(lhs, a.lhs_batch, a.lhs_contracting),
             rhs_free = free_axes(rhs, a.rhs_batch, a.rhs_contracting);
  DotShape d{product(lhs, a.lhs_batch),
             product(lhs, lhs_free),
             product(rhs, rhs_free),
             product(lhs, a.lhs_contracting),
             view_of(lhs, a.lhs_batch, lhs_free, a.lhs_contracting),
             view_of(rhs, a.rhs_batch, rhs_free, a.rhs_contracting),
             SkinnyForm::kNone};
  if (d.batch == 1 && !d.lhs.is_copied && !d.rhs.is_copied)
    d.form = skinny_form(d.m, d.n, d.k, d.lhs.is_transposed, d.rhs.is_transposed);
  return d;
}

class SkinnyDotStep : public LeadingStep {
 public:
  SkinnyDotStep(const DotShape& d, const Layout& layout, std::array<int, 3> slots)
      : form_(d.form), m_(d.m), n_(d.n), k_(d.k), layout_(layout), slots_(slots) {}
  size_t scratch_bytes() const override { return skinny_scratch_bytes(form_, m_, k_); }
  std::vector<int> slots_read() const override { return {slots_[0], slots_[1]}; }
  int target() const override { return slots_[2]; }
  int64_t size() const override { return m_ * n_; }
  int64_t grain() const override { return skinny_grain(form_, m_, n_); }
  void run_parts(const Frame& f, const Completed& completed) const override {
    skinny_dot(form_, m_, n_, k_, layout_, f.at<float>(slots_[0]), f.at<float>(slots_[1]),
               f.at<float>(slots_[2]), reinterpret_cast<float*>(f.scratch), completed);
  }
  std::string describe() const override {
    return fmt::format("dot_general [{},{}]x[{},{}] own, skinny{}", m_, k_, k_, n_,
                       layout_.is_row_major() ? "" : ", blocked");
  }
  double flops() const override { return 2.0 * static_cast<double>(m_ * n_ * k_); }

 private:
  SkinnyForm form_;
  int64_t m_, n_, k_;
  Layout layout_;
  std::array<int, 3> slots_;
};

class DotStep : public Step {
 public:
  DotStep(const DotShape& d, std::array<int, 3> slots)
      : batch_(d.batch), m_(d.m), n_(d.n), k_(d.k), lhs_(d.lhs), rhs_(d.rhs), slots_(slots) {}

  size_t scratch_bytes() const override {
    return static_cast<size_t>((lhs_.is_copied ? batch_ * m_ * k_ + 16 : 0) +
                               (rhs_.is_copied ? batch_ * k_ * n_ + 16 : 0)) *
           sizeof(float);
  }

  void run(const Frame& frame) const override {
    auto* scratch = reinterpret_cast<float*>(frame.scratch);
    const float* a = prepared(lhs_, frame.at<float>(slots_[0]), scratch);
    // A copied right operand is [free, contracting]: transposed as the product sees it.
    const float* b = prepared(rhs_, frame.at<float>(slots_[1]), scratch);
    float* c = frame.at<float>(slots_[2]);
    const bool b_is_nk = rhs_.is_copied || !rhs_.is_transposed;
    for (int64_t i = 0; i < batch_; ++i) {
      // The right operand's natural order here is [free, contracting] = [n, k].
      const dnnl_status_t status =
          dnnl_sgemm(lhs_.is_transposed ? 'T' : 'N', b_is_nk ? 'T' : 'N', m_, n_, k_, 1.0f,
                     a + i * m_ * k_, lhs_.is_transposed ? m_ : k_, b + i * k_ * n_,
                     b_is_nk ? k_ : n_, 0.0f, c + i * m_ * n_, n_);
      if (status != dnnl_success)
        fail(ErrorCode::kInternal, "dnnl_sgemm", "status {} for [{},{}] by [{},{}]",
             static_cast<int>(status), m_, k_, k_, n_);
    }
  }
  std::string describe() const override {
    return fmt::format("dot_general {}x[{},{}]x[{},{}] dnnl_sgemm", batch_, m_, k_, k_, n_);
  }
  double flops() const override { return 2.0 * static_cast<double>(batch_ * m_ * n_ * k_); }

 private:
  static const float* prepared(const MatrixView& view, const float* from, float*& scratch) {
    if (!view.is_copied) return from;
    float* const copy = scratch;
    gather(view, 0, from, scratch);
    scratch += (-(scratch - copy)) & 15;  // stay on a cache line
    return copy;
  }

  int64_t batch_, m_, n_, k_;
  MatrixView lhs_, rhs_;
  std::array<int, 3> slots_;
};

}  // namespace

bool is_skinny_input_gradient(const Lowering& l, const Node& node) {
  return l.type(node.operands[0]).dtype == DType::kF32 &&
         l.type(node.results[0]).shape.rank() == 2 &&
         dot_shape(l, node).form == SkinnyForm::kInputGradient;
}

void lower_dot(Lowering& l, const Node& node) {
  const TensorType& type = l.type(node.operands[0]);
  if (type.dtype != DType::kF32)
    unsupported("cpu", "dot_general of {} (layer \"{}\")", type.str(), node.context);
  const DotShape d = dot_shape(l, node);
  // The side that is flattened images may lie in blocked order.
  const bool is_input_gradient = d.form == SkinnyForm::kInputGradient;
  const int long_side = is_input_gradient ? node.results[0] : node.operands[0];
  const bool is_flat = d.form != SkinnyForm::kNone && l.type(long_side).shape.rank() == 2;
  const Layout layout = is_flat ? l.layout(long_side) : Layout{};
  const int x = l.read_as(node.operands[0], is_input_gradient ? Layout{} : layout),
            w = l.read(node.operands[1]);
  const std::array slots{x, w, l.write(node.results[0])};
  if (d.form == SkinnyForm::kNone)
    l.add(std::make_unique<DotStep>(d, slots));
  else
    l.add(std::make_unique<SkinnyDotStep>(d, layout, slots));
}

}  // namespace lockstep
