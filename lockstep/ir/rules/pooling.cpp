// 2-D pooling of NHWC images. Padding takes no part: not in the maximum, not in the average's
// count.
#include <limits>

#include "lockstep/ir/rules/rules.h"

namespace lockstep {

using namespace rules;

namespace {

const PoolAttrs& pool(const Attrs& attrs) {
  return std::get<PoolAttrs>(attrs);
}

void check_attrs(const char* op, const PoolAttrs& a) {
  for (size_t i = 0; i < 2; ++i) {
    const int64_t window = a.window[i], low = a.pad_low[i], high = a.pad_high[i];
    if (window < 1 || a.strides[i] < 1)
      invalid_argument(op, "window and strides must be >= 1: {} and {} (axis {})", window,
                       a.strides[i], i + 1);
    // A window in the padding alone would have no largest element and no mean.
    if (low < 0 || high < 0 || low >= window || high >= window)
      invalid_argument(op, "padding must be in [0, {}), the window: {} and {} (axis {})", window,
                       low, high, i + 1);
  }
}

Shape pooled_shape(const char* op, const Shape& x, const PoolAttrs& a) {
  check_attrs(op, a);
  if (x.rank() != 4) invalid_argument(op, "images must have rank 4: {}", x.str());
  Shape y = x;
  for (size_t i = 0; i < 2; ++i) {
    const int axis = static_cast<int>(i) + 1;
    const int64_t padded = x[axis] + a.pad_low[i] + a.pad_high[i];
    if (x[axis] < 1 || padded < a.window[i])
      invalid_argument(op, "window must fit into the padded images: {} on axis {}, images {}",
                       a.window[i], axis, x.str());
    y[axis] = (padded - a.window[i]) / a.strides[i] + 1;
  }
  return y;
}

/// Rows [h0, h1) and columns [w0, w1) of the image under a window, padding left out.
struct Window {
  int64_t h0, h1, w0, w1;
  int64_t count() const { return (h1 - h0) * (w1 - w0); }
};
Window window_at(const Shape& x, const PoolAttrs& a, int64_t h, int64_t w) {
  const int64_t top = h * a.strides[0] - a.pad_low[0], left = w * a.strides[1] - a.pad_low[1];
  return {std::max<int64_t>(top, 0), std::min(top + a.window[0], x[1]), std::max<int64_t>(left, 0),
          std::min(left + a.window[1], x[2])};
}

size_t at(const Shape& s, int64_t n, int64_t h, int64_t w, int64_t c) {
  return static_cast<size_t>(((n * s[1] + h) * s[2] + w) * s[3] + c);
}

std::vector<TensorType> pool_infer(const char* op, Types types, const Attrs& attrs) {
  require_float(op, types[0]);
  return {{types[0].dtype, pooled_shape(op, types[0].shape, pool(attrs))}};
}

std::vector<TensorType> max_infer(Types types, const Attrs& attrs) {
  return pool_infer("max_pool2d", types, attrs);
}

std::vector<TensorType> avg_infer(Types types, const Attrs& attrs) {
  return pool_infer("avg_pool2d", types, attrs);
}

void max_eval(Inputs in, const Attrs& attrs, Outputs out) {
  const Shape &xs = in[0]->shape(), &ys = out[0].shape();
  dispatch_float(in[0]->dtype(), [&]<class T>() {
    const auto x = in[0]->data<T>();
    size_t to = 0;
    for_each_index(ys, [&](const Dims& i) {
      const Window window = window_at(xs, pool(attrs), i[1], i[2]);
      T best = -std::numeric_limits<T>::infinity();
      for (int64_t h = window.h0; h < window.h1; ++h)
        for (int64_t w = window.w0; w < window.w1; ++w)
          best = std::max(best, x[at(xs, i[0], h, w, i[3])]);
      out[0].data<T>()[to++] = best;
    });
  });
}

std::vector<Value> max_vjp(const VjpArgs& args) {
  return {args.builder.max_pool2d_gradient(args.operands[0], args.results[0], args.cotangents[0],
                                           pool(args.attrs))};
}

std::vector<TensorType> max_gradient_infer(Types types, const Attrs& attrs) {
  const char* op = "max_pool2d_gradient";
  require_float(op, types[0]);
  const TensorType pooled{types[0].dtype, pooled_shape(op, types[0].shape, pool(attrs))};
  for (const TensorType& type : types.subspan(1))
    if (type != pooled)
      invalid_argument(op, "result and cotangent must be {}: {} (images {})", pooled.str(),
                       type.str(), types[0].str());
  return {types[0]};
}

void max_gradient_eval(Inputs in, const Attrs& attrs, Outputs out) {
  const Shape &xs = in[0]->shape(), &ys = in[1]->shape();
  dispatch_float(in[0]->dtype(), [&]<class T>() {
    const auto x = in[0]->data<T>(), y = in[1]->data<T>(), dy = in[2]->data<T>();
    size_t from = 0;
    for_each_index(ys, [&](const Dims& i) {
      const Window window = window_at(xs, pool(attrs), i[1], i[2]);
      const T largest = y[from], share = dy[from];
      ++from;
      for (int64_t h = window.h0; h < window.h1; ++h)
        for (int64_t w = window.w0; w < window.w1; ++w) {
          const size_t place = at(xs, i[0], h, w, i[3]);
          if (x[place] != largest) continue;
          out[0].data<T>()[place] += share;
          return;
        }
    });
  });
}

/// The places of a window in turn: one that is larger than all before it is the winner so far, and
/// the last winner takes dy. Not the one that equals y: a compiler that fuses may compute x anew
/// for each use, with other roundings, and then no place need equal y. Pads with NaN, which is
/// never the winner.
std::vector<Value> max_gradient_decompose(Builder& b, const Attrs& attrs,
                                          std::span<const Value> in) {
  const PoolAttrs& a = pool(attrs);
  const Value x = in[0], y = in[1];
  const Shape &xs = x.shape(), &ys = y.shape();
  const Value nothing = b.like(y, 0.0);
  // A window with NaN has no largest element.
  const Value is_number = b.compare(y, y, CompareDirection::kEq);
  const Value dy = b.select(is_number, in[2], nothing);
  const auto over_images = [](int64_t h, int64_t w) { return Dims{0, h, w, 0}; };
  const auto covered = [&](size_t i) {
    return (ys[static_cast<int>(i) + 1] - 1) * a.strides[i] + a.window[i];
  };
  const int64_t height = covered(0), width = covered(1);
  const Dims none(4, 0), interior = over_images(a.strides[0] - 1, a.strides[1] - 1);
  const Value zero = b.constant(0.0, x.dtype());
  const Value covered_x = b.pad(
      x, b.constant(static_cast<double>(kNan), x.dtype()), over_images(a.pad_low[0], a.pad_low[1]),
      over_images(height - xs[1] - a.pad_low[0], width - xs[2] - a.pad_low[1]), none);
  const auto last = [&](int64_t h, int64_t w) {
    return std::pair(height - a.window[0] + h + 1, width - a.window[1] + w + 1);
  };
  std::vector<Value> places;
  for (int64_t i = 0; i < a.window[0] * a.window[1]; ++i)
    places.push_back(b.constant(static_cast<double>(i), {DType::kS32, ys}));
  Value largest, winner;
  for (int64_t h = 0; h < a.window[0]; ++h)
    for (int64_t w = 0; w < a.window[1]; ++w) {
      const auto [bottom, right] = last(h, w);
      const Value here = b.slice(covered_x, over_images(h, w), {xs[0], bottom, right, xs[3]},
                                 {1, a.strides[0], a.strides[1], 1});
      const Value place = places[static_cast<size_t>(h * a.window[1] + w)];
      if (!largest.valid()) {
        largest = here, winner = place;
        continue;
      }
      const Value is_real = b.compare(here, here, CompareDirection::kEq);
      const Value is_no_larger = b.compare(here, largest, CompareDirection::kLe);
      const Value wins = b.logical_and(is_real, b.logical_not(is_no_larger));
      largest = b.select(wins, here, largest);
      winner = b.select(wins, place, winner);
    }
  Value sum;
  for (int64_t h = 0; h < a.window[0]; ++h)
    for (int64_t w = 0; w < a.window[1]; ++w) {
      const auto [bottom, right] = last(h, w);
      const Value place = places[static_cast<size_t>(h * a.window[1] + w)];
      const Value takes = b.compare(winner, place, CompareDirection::kEq);
      const Value share = b.pad(b.select(takes, dy, nothing), zero, over_images(h, w),
                                over_images(height - bottom, width - right), interior);
      sum = sum.valid() ? b.add(sum, share) : share;
    }
  return {b.pad(sum, zero, over_images(-a.pad_low[0], -a.pad_low[1]),
                over_images(xs[1] + a.pad_low[0] - height, xs[2] + a.pad_low[1] - width), none)};
}

void avg_eval(Inputs in, const Attrs& attrs, Outputs out) {
  const Shape &xs = in[0]->shape(), &ys = out[0].shape();
  dispatch_float(in[0]->dtype(), [&]<class T>() {
    const auto x = in[0]->data<T>();
    size_t to = 0;
    for_each_index(ys, [&](const Dims& i) {
      const Window window = window_at(xs, pool(attrs), i[1], i[2]);
      T sum = 0;
      for (int64_t h = window.h0; h < window.h1; ++h)
        for (int64_t w = window.w0; w < window.w1; ++w) sum += x[at(xs, i[0], h, w, i[3])];
      out[0].data<T>()[to++] = sum / static_cast<T>(window.count());
    });
  });
}

std::vector<Value> avg_vjp(const VjpArgs& args) {
  PoolAttrs attrs = pool(args.attrs);
  attrs.shape = args.operands[0].shape();
  return {args.builder.avg_pool2d_gradient(args.cotangents[0], attrs)};
}

std::vector<TensorType> avg_gradient_infer(Types types, const Attrs& attrs) {
  const Shape y = pooled_shape("avg_pool2d_gradient", pool(attrs).shape, pool(attrs));
  require_float("avg_pool2d_gradient", types[0]);
  if (types[0].shape != y)
    invalid_argument("avg_pool2d_gradient", "cotangent must have shape {}: {} (images {})", y.str(),
                     types[0].str(), pool(attrs).shape.str());
  return {{types[0].dtype, pool(attrs).shape}};
}

void avg_gradient_eval(Inputs in, const Attrs& attrs, Outputs out) {
  const Shape &xs = out[0].shape(), &ys = in[0]->shape();
  dispatch_float(in[0]->dtype(), [&]<class T>() {
    size_t from = 0;
    for_each_index(ys, [&](const Dims& i) {
      const Window window = window_at(xs, pool(attrs), i[1], i[2]);
      const T share = in[0]->data<T>()[from++] / static_cast<T>(window.count());
      for (int64_t h = window.h0; h < window.h1; ++h)
        for (int64_t w = window.w0; w < window.w1; ++w)
          out[0].data<T>()[at(xs, i[0], h, w, i[3])] += share;
    });
  });
}

std::vector<Value> avg_gradient_vjp(const VjpArgs& args) {
  PoolAttrs attrs = pool(args.attrs);
  attrs.shape = {};
  return {args.builder.avg_pool2d(args.cotangents[0], attrs)};
}

struct PoolCase {
  const char* name;
  Shape x;
  PoolAttrs attrs;
};

const std::vector<PoolCase>& cases() {
  static const std::vector<PoolCase> all = {
      {"halves", {2, 4, 6, 3}, {.window = {2, 2}, .strides = {2, 2}}},
      {"halves_16", {2, 6, 6, 16}, {.window = {2, 2}, .strides = {2, 2}}},
      {"overlap_same",
       {1, 7, 5, 4},
       {.window = {3, 3}, .strides = {2, 2}, .pad_low = {1, 1}, .pad_high = {1, 1}}},
      {"same_stride_1",
       {2, 5, 5, 20},
       {.window = {3, 3}, .strides = {1, 1}, .pad_low = {1, 1}, .pad_high = {1, 1}}},
      {"uneven", {2, 5, 7, 1}, {.window = {2, 3}, .strides = {2, 2}, .pad_high = {1, 1}}},
      {"whole", {3, 4, 4, 32}, {.window = {4, 4}, .strides = {4, 4}}},
      {"rectangular",
       {1, 5, 9, 3},
       {.window = {1, 4}, .strides = {1, 2}, .pad_low = {0, 1}, .pad_high = {0, 2}}},
      {"gaps", {1, 7, 7, 2}, {.window = {2, 2}, .strides = {3, 3}}},
  };
  return all;
}

std::vector<OpSample> pool_samples() {
  std::vector<OpSample> samples;
  for (const PoolCase& c : cases()) samples.push_back({c.name, {uniform(c.x, -1, 1, 1)}, c.attrs});
  return samples;
}

std::vector<OpSample> max_samples() {
  std::vector<OpSample> samples = pool_samples();
  // At ties a difference quotient is one-sided.
  samples.push_back({"ties",
                     {floats({1, 2, 4, 1}, {1, 1, 0, 2, 1, 1, 2, 2})},
                     PoolAttrs{.window = {2, 2}, .strides = {2, 2}},
                     1e-6,
                     false});
  return samples;
}

OpSample max_gradient_sample(std::string name, HostTensor x, const PoolAttrs& attrs) {
  HostTensor y(x.dtype(), pooled_shape("max_pool2d", x.shape(), attrs));
  const HostTensor* operand = &x;
  max_eval({&operand, 1}, attrs, {&y, 1});
  HostTensor dy = uniform(y.shape(), -1, 1, 9);
  return {std::move(name), {std::move(x), std::move(y), std::move(dy)}, attrs};
}

std::vector<OpSample> max_gradient_samples() {
  std::vector<OpSample> samples;
  for (const PoolCase& c : cases())
    samples.push_back(max_gradient_sample(c.name, uniform(c.x, -1, 1, 1), c.attrs));
  samples.push_back(max_gradient_sample("ties", floats({1, 2, 4, 1}, {1, 1, 0, 2, 1, 1, 2, 2}),
                                        {.window = {2, 2}, .strides = {2, 2}}));
  return samples;
}

std::vector<OpSample> avg_gradient_samples() {
  std::vector<OpSample> samples;
  for (const PoolCase& c : cases()) {
    PoolAttrs attrs = c.attrs;
    attrs.shape = c.x;
    samples.push_back({c.name, {uniform(pooled_shape("avg_pool2d", c.x, attrs), -1, 1, 1)}, attrs});
  }
  return samples;
}

}  // namespace

DEFINE_RULES(MaxPool2d,
             {.infer = max_infer, .vjp = max_vjp, .eval = max_eval, .samples = max_samples})
DEFINE_RULES(MaxPool2dGradient, {.infer = max_gradient_infer,
                                 .vjp = nullptr,
                                 .eval = max_gradient_eval,
                                 .samples = max_gradient_samples,
                                 .decompose = max_gradient_decompose})
DEFINE_RULES(AvgPool2d,
             {.infer = avg_infer, .vjp = avg_vjp, .eval = avg_eval, .samples = pool_samples})
DEFINE_RULES(AvgPool2dGradient, {.infer = avg_gradient_infer,
                                 .vjp = avg_gradient_vjp,
                                 .eval = avg_gradient_eval,
                                 .samples = avg_gradient_samples})

}  // namespace lockstep
