// conv2d and its two gradients: NHWC images, HWIO kernels [kh, kw, in/groups, out].
#include "lockstep/ir/rules/rules.h"

namespace lockstep {

using namespace rules;

namespace {

const ConvAttrs& conv(const Attrs& attrs) {
  return std::get<ConvAttrs>(attrs);
}

int64_t output_extent(const ConvAttrs& a, size_t axis, int64_t in, int64_t kernel) {
  const int64_t window = (kernel - 1) * a.dilation[axis] + 1;
  const int64_t padded = in + a.pad_low[axis] + a.pad_high[axis];
  return padded < window ? 0 : (padded - window) / a.strides[axis] + 1;
}

void check_attrs(const char* op, const ConvAttrs& a) {
  for (size_t i = 0; i < 2; ++i) {
    if (a.strides[i] < 1 || a.dilation[i] < 1)
      invalid_argument(op, "strides and dilation must be >= 1: {} and {} (axis {})", a.strides[i],
                       a.dilation[i], i + 1);
    if (a.pad_low[i] < 0 || a.pad_high[i] < 0)
      invalid_argument(op, "padding must be >= 0: {} and {} (axis {})", a.pad_low[i], a.pad_high[i],
                       i + 1);
  }
  if (a.groups < 1) invalid_argument(op, "groups must be >= 1: {}", a.groups);
}

/// Result shape of conv2d; throws naming both shapes when they do not fit.
Shape conv_shape(const char* op, const Shape& x, const Shape& kernel, const ConvAttrs& a) {
  check_attrs(op, a);
  if (x.rank() != 4 || kernel.rank() != 4)
    invalid_argument(op, "images and kernel must have rank 4: {} and {}", x.str(), kernel.str());
  if (kernel.size() == 0)
    invalid_argument(op, "kernel must not be empty: {} (images {})", kernel.str(), x.str());
  if (x[3] != kernel[2] * a.groups)
    invalid_argument(op, "channels must match: images {} have {}, kernel {} takes {} ({} groups)",
                     x.str(), x[3], kernel.str(), kernel[2] * a.groups, a.groups);
  if (kernel[3] % a.groups != 0)
    invalid_argument(op, "filters must be a multiple of the {} groups: {} (kernel {})", a.groups,
                     kernel[3], kernel.str());
  const Shape shape{x[0], output_extent(a, 0, x[1], kernel[0]),
                    output_extent(a, 1, x[2], kernel[1]), kernel[3]};
  if (shape[1] < 1 || shape[2] < 1)
    invalid_argument(op,
                     "kernel must fit into the padded images: kernel {} with dilation {}x{}, "
                     "images {}. Fewer strided layers or padding \"same\" keep images larger",
                     kernel.str(), a.dilation[0], a.dilation[1], x.str());
  return shape;
}

void require_floats(const char* op, Types types) {
  require_float(op, types[0]);
  if (types[0].dtype != types[1].dtype)
    invalid_argument(op, "operands must have one dtype: {} and {}", types[0].str(), types[1].str());
}

std::vector<TensorType> conv_infer(Types types, const Attrs& attrs) {
  require_floats("conv2d", types);
  return {{types[0].dtype, conv_shape("conv2d", types[0].shape, types[1].shape, conv(attrs))}};
}

std::vector<TensorType> input_gradient_infer(Types types, const Attrs& attrs) {
  const char* op = "conv2d_input_gradient";
  require_floats(op, types);
  const Shape forward = conv_shape(op, conv(attrs).shape, types[1].shape, conv(attrs));
  if (forward != types[0].shape)
    invalid_argument(op, "cotangent must be {}: {}", forward.str(), types[0].shape.str());
  return {{types[0].dtype, conv(attrs).shape}};
}

std::vector<TensorType> kernel_gradient_infer(Types types, const Attrs& attrs) {
  const char* op = "conv2d_kernel_gradient";
  require_floats(op, types);
  const Shape forward = conv_shape(op, types[0].shape, conv(attrs).shape, conv(attrs));
  if (forward != types[1].shape)
    invalid_argument(op, "cotangent must be {}: {}", forward.str(), types[1].shape.str());
  return {{types[0].dtype, conv(attrs).shape}};
}

/// Calls body(x, kernel, y) with the linear indices of every product in the convolution.
template <class Body>
void for_each_product(const Shape& x, const Shape& kernel, const Shape& y, const ConvAttrs& a,
                      Body&& body) {
  const int64_t out_per_group = y[3] / a.groups;
  for_each_index(y, [&](const Dims& at) {
    const int64_t group = at[3] / out_per_group;
    const auto to = static_cast<size_t>(((at[0] * y[1] + at[1]) * y[2] + at[2]) * y[3] + at[3]);
    for (int64_t kh = 0; kh < kernel[0]; ++kh)
      for (int64_t kw = 0; kw < kernel[1]; ++kw) {
        const int64_t h = at[1] * a.strides[0] + kh * a.dilation[0] - a.pad_low[0];
        const int64_t w = at[2] * a.strides[1] + kw * a.dilation[1] - a.pad_low[1];
        if (h < 0 || h >= x[1] || w < 0 || w >= x[2]) continue;
        const int64_t from = ((at[0] * x[1] + h) * x[2] + w) * x[3] + group * kernel[2];
        const int64_t weight = (kh * kernel[1] + kw) * kernel[2] * kernel[3] + at[3];
        for (int64_t c = 0; c < kernel[2]; ++c)
          body(static_cast<size_t>(from + c), static_cast<size_t>(weight + c * kernel[3]), to);
      }
  });
}

void conv_eval(Inputs in, const Attrs& attrs, Outputs out) {
  dispatch_float(in[0]->dtype(), [&]<class T>() {
    const auto x = in[0]->data<T>(), k = in[1]->data<T>();
    const auto y = out[0].data<T>();
    for_each_product(in[0]->shape(), in[1]->shape(), out[0].shape(), conv(attrs),
                     [&](size_t i, size_t j, size_t to) { y[to] += x[i] * k[j]; });
  });
}

void input_gradient_eval(Inputs in, const Attrs& attrs, Outputs out) {
  dispatch_float(in[0]->dtype(), [&]<class T>() {
    const auto dy = in[0]->data<T>(), k = in[1]->data<T>();
    const auto dx = out[0].data<T>();
    for_each_product(out[0].shape(), in[1]->shape(), in[0]->shape(), conv(attrs),
                     [&](size_t i, size_t j, size_t to) { dx[i] += dy[to] * k[j]; });
  });
}

void kernel_gradient_eval(Inputs in, const Attrs& attrs, Outputs out) {
  dispatch_float(in[0]->dtype(), [&]<class T>() {
    const auto x = in[0]->data<T>(), dy = in[1]->data<T>();
    const auto dk = out[0].data<T>();
    for_each_product(in[0]->shape(), out[0].shape(), in[1]->shape(), conv(attrs),
                     [&](size_t i, size_t j, size_t to) { dk[j] += x[i] * dy[to]; });
  });
}

ConvAttrs with_shape(ConvAttrs attrs, Shape shape) {
  attrs.shape = std::move(shape);
  return attrs;
}

// The three ops are the three ways to contract (x, kernel, y); each one's gradients are the other
// two.
std::vector<Value> conv_vjp(const VjpArgs& args) {
  Builder& b = args.builder;
  const Value x = args.operands[0], k = args.operands[1], dy = args.cotangents[0];
  return {b.conv2d_input_gradient(dy, k, with_shape(conv(args.attrs), x.shape())),
          b.conv2d_kernel_gradient(x, dy, with_shape(conv(args.attrs), k.shape()))};
}

std::vector<Value> input_gradient_vjp(const VjpArgs& args) {
  Builder& b = args.builder;
  const Value y = args.operands[0], k = args.operands[1], dx = args.cotangents[0];
  return {b.conv2d(dx, k, with_shape(conv(args.attrs), {})),
          b.conv2d_kernel_gradient(dx, y, with_shape(conv(args.attrs), k.shape()))};
}

std::vector<Value> kernel_gradient_vjp(const VjpArgs& args) {
  Builder& b = args.builder;
  const Value x = args.operands[0], dy = args.operands[1], dk = args.cotangents[0];
  return {b.conv2d_input_gradient(dy, dk, with_shape(conv(args.attrs), x.shape())),
          b.conv2d(x, dk, with_shape(conv(args.attrs), {}))};
}

struct ConvCase {
  const char* name;
  Shape x, kernel;
  ConvAttrs attrs;
};

const std::vector<ConvCase>& cases() {
  static const std::vector<ConvCase> all = {
      {"valid", {2, 6, 7, 3}, {3, 3, 3, 4}, {}},
      {"one_channel", {2, 7, 7, 1}, {3, 3, 1, 16}, {}},
      {"channels_16_32", {2, 7, 6, 16}, {3, 3, 16, 32}, {}},
      {"channels_32_64", {1, 6, 10, 32}, {3, 3, 32, 64}, {}},
      {"same_even_kernel", {1, 5, 6, 2}, {2, 2, 2, 3}, {.pad_high = {1, 1}}},
      {"same", {2, 5, 6, 8}, {3, 3, 8, 8}, {.pad_low = {1, 1}, .pad_high = {1, 1}}},
      {"same_16", {2, 5, 9, 16}, {3, 3, 16, 16}, {.pad_low = {1, 1}, .pad_high = {1, 1}}},
      {"stride_2",
       {2, 7, 8, 3},
       {3, 3, 3, 5},
       {.strides = {2, 2}, .pad_low = {1, 0}, .pad_high = {1, 1}}},
      {"stride_2_16", {2, 8, 8, 16}, {3, 3, 16, 16}, {.strides = {2, 2}, .pad_high = {1, 1}}},
      {"dilation_2", {1, 8, 9, 3}, {3, 2, 3, 4}, {.dilation = {2, 2}}},
      {"groups", {2, 5, 5, 4}, {3, 3, 2, 6}, {.groups = 2}},
      {"groups_16", {1, 5, 5, 32}, {3, 3, 16, 32}, {.groups = 2}},
      {"depthwise", {2, 5, 6, 8}, {3, 3, 1, 8}, {.groups = 8}},
      {"depthwise_multiplier",
       {1, 6, 6, 3},
       {3, 3, 1, 6},
       {.strides = {2, 2}, .pad_high = {1, 1}, .groups = 3}},
      {"uncovered_edge", {1, 8, 7, 3}, {3, 2, 3, 4}, {.strides = {2, 3}}},
      {"pointwise", {2, 4, 5, 7}, {1, 1, 7, 9}, {}},
      // A stride with a 1x1 kernel and few channels: vendor kernels have overrun here.
      {"pointwise_stride_2", {2, 6, 6, 4}, {1, 1, 4, 8}, {.strides = {2, 2}}},
      {"rectangular",
       {1, 6, 9, 3},
       {1, 5, 3, 4},
       {.strides = {1, 2}, .pad_low = {0, 2}, .pad_high = {0, 2}}},
      // Filters in an odd number of vectors, padding on two sides of four.
      {"filters_24", {3, 5, 6, 16}, {3, 3, 16, 24}, {.pad_low = {1, 0}, .pad_high = {0, 1}}},
      {"rgb_16", {2, 7, 6, 3}, {3, 3, 3, 16}, {.pad_low = {1, 1}, .pad_high = {1, 1}}},
      {"even_kernel_stride_2",
       {3, 8, 8, 8},
       {4, 4, 8, 16},
       {.strides = {2, 2}, .pad_low = {1, 1}, .pad_high = {1, 1}}},
      {"kernel_5_8_16", {2, 6, 7, 8}, {5, 5, 8, 16}, {.pad_low = {2, 2}, .pad_high = {2, 2}}},
      {"dilation_2_8_16",
       {2, 9, 8, 8},
       {3, 3, 8, 16},
       {.dilation = {2, 2}, .pad_low = {2, 2}, .pad_high = {2, 2}}},
      {"pointwise_8_16", {2, 5, 4, 8}, {1, 1, 8, 16}, {}},
      // Three images of more pixels than a kernel takes at once.
      {"many_pixels", {3, 62, 40, 8}, {2, 1, 8, 16}, {.strides = {2, 2}, .pad_high = {1, 0}}},
      {"one_pixel", {3, 1, 1, 5}, {3, 3, 5, 2}, {.pad_low = {1, 1}, .pad_high = {1, 1}}},
  };
  return all;
}

// 2e-5: sums of up to some hundred f32 products against f64.
constexpr double kTolerance = 2e-5;

/// Difference quotients evaluate the op twice an element: only small cases can afford them.
bool is_small(const ConvCase& c) {
  return c.x.size() * c.kernel.size() <= 300'000;
}

std::vector<OpSample> conv_samples() {
  std::vector<OpSample> samples;
  for (const ConvCase& c : cases())
    samples.push_back({c.name,
                       {uniform(c.x, -1, 1, 1), uniform(c.kernel, -1, 1, 2)},
                       c.attrs,
                       kTolerance,
                       is_small(c)});
  return samples;
}

std::vector<OpSample> input_gradient_samples() {
  std::vector<OpSample> samples;
  for (const ConvCase& c : cases()) {
    const Shape y = conv_shape("conv2d", c.x, c.kernel, c.attrs);
    samples.push_back({c.name,
                       {uniform(y, -1, 1, 1), uniform(c.kernel, -1, 1, 2)},
                       with_shape(c.attrs, c.x),
                       kTolerance,
                       is_small(c)});
  }
  return samples;
}

std::vector<OpSample> kernel_gradient_samples() {
  std::vector<OpSample> samples;
  for (const ConvCase& c : cases()) {
    const Shape y = conv_shape("conv2d", c.x, c.kernel, c.attrs);
    samples.push_back({c.name,
                       {uniform(c.x, -1, 1, 1), uniform(y, -1, 1, 2)},
                       with_shape(c.attrs, c.kernel),
                       kTolerance,
                       is_small(c)});
  }
  return samples;
}

}  // namespace

DEFINE_RULES(Conv2d,
             {.infer = conv_infer, .vjp = conv_vjp, .eval = conv_eval, .samples = conv_samples})
DEFINE_RULES(Conv2dInputGradient, {.infer = input_gradient_infer,
                                   .vjp = input_gradient_vjp,
                                   .eval = input_gradient_eval,
                                   .samples = input_gradient_samples})
DEFINE_RULES(Conv2dKernelGradient, {.infer = kernel_gradient_infer,
                                    .vjp = kernel_gradient_vjp,
                                    .eval = kernel_gradient_eval,
                                    .samples = kernel_gradient_samples})

}  // namespace lockstep
