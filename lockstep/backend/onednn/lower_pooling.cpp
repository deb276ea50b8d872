// Pooling over NHWC: windows outside, channels inside, so that channels vectorise.
#include <algorithm>
#include <cmath>
#include <cstring>

#include "lockstep/backend/onednn/loops.h"
#include "lockstep/backend/onednn/lowering.h"

namespace lockstep {
namespace {

struct PoolShape {
  Shape x, y;  // NHWC
  PoolAttrs attrs;

  /// Calls body(output pixel, first input pixel of image, h0, h1, w0, w1), windows clipped to the
  /// image.
  template <class Body>
  void for_each_window(Body&& body) const {
    for (int64_t n = 0; n < y[0]; ++n)
      for (int64_t oh = 0; oh < y[1]; ++oh)
        for (int64_t ow = 0; ow < y[2]; ++ow) {
          const int64_t top = oh * attrs.strides[0] - attrs.pad_low[0],
                        left = ow * attrs.strides[1] - attrs.pad_low[1];
          body((n * y[1] + oh) * y[2] + ow, n * x[1] * x[2], std::max<int64_t>(top, 0),
               std::min(top + attrs.window[0], x[1]), std::max<int64_t>(left, 0),
               std::min(left + attrs.window[1], x[2]));
        }
  }
  int64_t channels() const { return x[3]; }
};

class PoolStep : public Step {
 public:
  PoolStep(PoolShape shape, bool is_max, int from, int to)
      : s_(std::move(shape)), is_max_(is_max), from_(from), to_(to) {}
  void run(const Frame& frame) const override {
    const float* x = frame.at<float>(from_);
    float* y = frame.at<float>(to_);
    const int64_t c = s_.channels();
    s_.for_each_window([&](int64_t out, int64_t image, int64_t h0, int64_t h1, int64_t w0,
                           int64_t w1) {
      float* to = y + out * c;
      std::fill_n(to, c, is_max_ ? -HUGE_VALF : 0.0f);
      for (int64_t h = h0; h < h1; ++h)
        for (int64_t w = w0; w < w1; ++w)
          (is_max_ ? loops().max_into : loops().add_into)(to, x + (image + h * s_.x[2] + w) * c, c);
      if (is_max_) return;
      const float count = static_cast<float>((h1 - h0) * (w1 - w0));
      for (int64_t i = 0; i < c; ++i) to[i] /= count;
    });
  }
  std::string describe() const override {
    return fmt::format("{} {} own", is_max_ ? "max_pool2d" : "avg_pool2d", s_.x.str());
  }

 private:
  PoolShape s_;
  bool is_max_;
  int from_, to_;
};

class MaxGradientStep : public Step {
 public:
  MaxGradientStep(PoolShape shape, std::array<int, 3> from, int to)
      : s_(std::move(shape)), from_(from), to_(to) {}
  size_t scratch_bytes() const override {
    return static_cast<size_t>(s_.channels()) * sizeof(int32_t);
  }
  void run(const Frame& frame) const override {
    const float *x = frame.at<float>(from_[0]), *y = frame.at<float>(from_[1]),
                *dy = frame.at<float>(from_[2]);
    float* dx = frame.at<float>(to_);
    auto* taken = reinterpret_cast<int32_t*>(frame.scratch);
    const int64_t c = s_.channels();
    std::fill_n(dx, s_.x.size(), 0.0f);
    s_.for_each_window(
        [&](int64_t out, int64_t image, int64_t h0, int64_t h1, int64_t w0, int64_t w1) {
          std::fill_n(taken, c, 0);
          for (int64_t h = h0; h < h1; ++h)
            for (int64_t w = w0; w < w1; ++w) {
              const int64_t at = (image + h * s_.x[2] + w) * c;
              loops().route_gradient(x + at, y + out * c, dy + out * c, taken, dx + at, c);
            }
        });
  }
  std::string describe() const override {
    return fmt::format("max_pool2d_gradient {} own", s_.x.str());
  }

 private:
  PoolShape s_;
  std::array<int, 3> from_;
  int to_;
};

class AvgGradientStep : public Step {
 public:
  AvgGradientStep(PoolShape shape, int from, int to) : s_(std::move(shape)), from_(from), to_(to) {}
  void run(const Frame& frame) const override {
    const float* dy = frame.at<float>(from_);
    float* dx = frame.at<float>(to_);
    const int64_t c = s_.channels();
    std::fill_n(dx, s_.x.size(), 0.0f);
    s_.for_each_window(
        [&](int64_t out, int64_t image, int64_t h0, int64_t h1, int64_t w0, int64_t w1) {
          const float factor = 1.0f / static_cast<float>((h1 - h0) * (w1 - w0));
          for (int64_t h = h0; h < h1; ++h)
            for (int64_t w = w0; w < w1; ++w)
              loops().scale_into(dx + (image + h * s_.x[2] + w) * c, dy + out * c, factor, c);
        });
  }
  std::string describe() const override {
    return fmt::format("avg_pool2d_gradient {} own", s_.x.str());
  }

 private:
  PoolShape s_;
  int from_, to_;
};

void require_f32(const Lowering& l, const Node& node) {
  const TensorType& type = l.type(node.operands[0]);
  if (type.dtype != DType::kF32)
    unsupported("cpu", "{} of {} (layer \"{}\")", op_def(node.opcode).mnemonic, type.str(),
                node.context);
}

/// A group of channels is an image of its own.
Shape as_images(const Shape& s, int64_t block) {
  return block == 0 ? s : Shape{s[0] * s[3] / block, s[1], s[2], block};
}

class NormStep : public Step {
 public:
  NormStep(const Shape& shape, float epsilon, std::array<int, 3> from, std::array<int, 3> to)
      : channels_(shape.back()),
        rows_(shape.size() / shape.back()),
        epsilon_(epsilon),
        from_(from),
        to_(to) {}
  size_t scratch_bytes() const override { return static_cast<size_t>(channels_) * sizeof(float); }
  void run(const Frame& f) const override {
    loops().batch_norm(f.at<float>(from_[0]), f.at<float>(from_[1]), f.at<float>(from_[2]),
                       epsilon_, rows_, channels_, f.at<float>(to_[0]), f.at<float>(to_[1]),
                       f.at<float>(to_[2]), reinterpret_cast<float*>(f.scratch));
  }
  std::string describe() const override {
    return fmt::format("batch_norm_training [{},{}] own", rows_, channels_);
  }

 private:
  int64_t channels_, rows_;
  float epsilon_;
  std::array<int, 3> from_, to_;
};

class NormGradientStep : public Step {
 public:
  NormGradientStep(const Shape& shape, float epsilon, std::array<int, 5> from,
                   std::array<int, 3> to)
      : channels_(shape.back()),
        rows_(shape.size() / shape.back()),
        epsilon_(epsilon),
        from_(from),
        to_(to) {}
  size_t scratch_bytes() const override {
    return static_cast<size_t>(channels_) * 4 * sizeof(float);
  }
  void run(const Frame& f) const override {
    loops().batch_norm_gradient(f.at<float>(from_[0]), f.at<float>(from_[1]), f.at<float>(from_[2]),
                                f.at<float>(from_[3]), f.at<float>(from_[4]), epsilon_, rows_,
                                channels_, f.at<float>(to_[0]), f.at<float>(to_[1]),
                                f.at<float>(to_[2]), reinterpret_cast<float*>(f.scratch));
  }
  std::string describe() const override {
    return fmt::format("batch_norm_gradient [{},{}] own", rows_, channels_);
  }

 private:
  int64_t channels_, rows_;
  float epsilon_;
  std::array<int, 5> from_;
  std::array<int, 3> to_;
};

}  // namespace

void lower_pooling(Lowering& l, const Node& node) {
  require_f32(l, node);
  const auto& attrs = node.as<PoolAttrs>();
  const int64_t block = l.layout(node.results[0]).block;
  const auto read = [&](int value) {
    return l.read_as(value, image_layout(l.type(value).shape, block));
  };
  const Shape operand = as_images(l.type(node.operands[0]).shape, block),
              result = as_images(l.type(node.results[0]).shape, block);
  switch (node.opcode) {
    case Opcode::kMaxPool2d:
    case Opcode::kAvgPool2d: {
      const int from = read(node.operands[0]);
      l.add(std::make_unique<PoolStep>(PoolShape{operand, result, attrs},
                                       node.opcode == Opcode::kMaxPool2d, from,
                                       l.write(node.results[0])));
      return;
    }
    case Opcode::kMaxPool2dGradient: {
      const std::array<int, 3> from{read(node.operands[0]), read(node.operands[1]),
                                    read(node.operands[2])};
      l.add(std::make_unique<MaxGradientStep>(
          PoolShape{operand, as_images(l.type(node.operands[1]).shape, block), attrs}, from,
          l.write(node.results[0])));
      return;
    }
    default: {
      const int from = read(node.operands[0]);
      l.add(std::make_unique<AvgGradientStep>(PoolShape{result, operand, attrs}, from,
                                              l.write(node.results[0])));
    }
  }
}

void lower_normalization(Lowering& l, const Node& node) {
  require_f32(l, node);
  const Shape& shape = l.type(node.operands[0]).shape;
  const auto epsilon = static_cast<float>(node.as<EpsilonAttrs>().epsilon);
  std::array<int, 5> from{};
  for (size_t i = 0; i < node.operands.size(); ++i) from[i] = l.read(node.operands[i]);
  const std::array<int, 3> to{l.write(node.results[0]), l.write(node.results[1]),
                              l.write(node.results[2])};
  if (node.opcode == Opcode::kBatchNormTraining)
    l.add(std::make_unique<NormStep>(shape, epsilon, std::array{from[0], from[1], from[2]}, to));
  else
    l.add(std::make_unique<NormGradientStep>(shape, epsilon, from, to));
}

}  // namespace lockstep
