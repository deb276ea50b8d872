// dot_general as matrix products: batch x [m, k] by [k, n].
#include <oneapi/dnnl/dnnl.h>

#include <algorithm>
#include <cstring>

#include "lockstep/backend/onednn/lowering.h"

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

MatrixView view_of(const Shape& shape, const Dims& batch, const Dims& free, const Dims& contracting) {
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
  for (int64_t i = 0; i < view.extents[axis]; ++i) gather(view, axis + 1, from + i * view.strides[axis], to);
}

int64_t product(const Shape& shape, const Dims& axes) {
  int64_t n = 1;
  for (int64_t axis : axes) n *= shape[static_cast<int>(axis)];
  return n;
}

class DotStep : public Step {
 public:
  DotStep(int64_t batch, int64_t m, int64_t n, int64_t k, MatrixView lhs, MatrixView rhs, std::array<int, 3> slots)
      : batch_(batch), m_(m), n_(n), k_(k), lhs_(std::move(lhs)), rhs_(std::move(rhs)), slots_(slots) {}

  size_t scratch_bytes() const override {
    return static_cast<size_t>((lhs_.is_copied ? batch_ * m_ * k_ + 16 : 0) + (rhs_.is_copied ? batch_ * k_ * n_ + 16 : 0)) * sizeof(float);
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
      const dnnl_status_t status = dnnl_sgemm(lhs_.is_transposed ? 'T' : 'N', b_is_nk ? 'T' : 'N', m_, n_, k_, 1.0f, a + i * m_ * k_,
                                              lhs_.is_transposed ? m_ : k_, b + i * k_ * n_, b_is_nk ? k_ : n_, 0.0f, c + i * m_ * n_, n_);
      if (status != dnnl_success) fail(ErrorCode::kInternal, "dnnl_sgemm", "status {} for [{},{}] by [{},{}]", static_cast<int>(status), m_, k_, k_, n_);
    }
  }
  std::string describe() const override {
    return fmt::format("dot_general {}x[{},{}]x[{},{}] dnnl_sgemm", batch_, m_, k_, k_, n_);
  }

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

void lower_dot(Lowering& l, const Node& node) {
  const auto& a = node.as<DotAttrs>();
  const TensorType &lhs = l.type(node.operands[0]), &rhs = l.type(node.operands[1]);
  if (lhs.dtype != DType::kF32) unsupported("cpu", "dot_general of {} (layer \"{}\")", lhs.str(), node.context);
  const Dims lhs_free = free_axes(lhs.shape, a.lhs_batch, a.lhs_contracting), rhs_free = free_axes(rhs.shape, a.rhs_batch, a.rhs_contracting);
  const int x = l.read(node.operands[0]), y = l.read(node.operands[1]);
  l.add(std::make_unique<DotStep>(product(lhs.shape, a.lhs_batch), product(lhs.shape, lhs_free), product(rhs.shape, rhs_free),
                                  product(lhs.shape, a.lhs_contracting), view_of(lhs.shape, a.lhs_batch, lhs_free, a.lhs_contracting),
                                  view_of(rhs.shape, a.rhs_batch, rhs_free, a.rhs_contracting), std::array{x, y, l.write(node.results[0])}));
}

}  // namespace lockstep
