// Convolutions and their gradients on the CPU backend over drawn geometries: strides, dilation,
// uneven padding, kernels larger than the image, channels in any number of groups, images that do
// not fit a cache; bias and activations fused or not.
#include <gtest/gtest.h>

#include <random>

#include "lockstep/autodiff/vjp.h"
#include "lockstep/backend/onednn/layout.h"
#include "lockstep/backend/onednn/onednn_backend.h"
#include "lockstep/backend/onednn/pointwise_kernels.h"
#include "lockstep/backend/reference/reference_backend.h"
#include "tests/op_conformance/run_graph.h"

namespace lockstep {
namespace {

struct Geometry {
  Shape x, kernel;
  ConvAttrs attrs;
  int activation = 0;  // none, relu, elu, tanh, logistic
};

std::string text_of(const Geometry& g) {
  return fmt::format("x {} kernel {} strides {} {} dilation {} {} pad {} {} / {} {} activation {}",
                     g.x.str(), g.kernel.str(), g.attrs.strides[0], g.attrs.strides[1],
                     g.attrs.dilation[0], g.attrs.dilation[1], g.attrs.pad_low[0],
                     g.attrs.pad_low[1], g.attrs.pad_high[0], g.attrs.pad_high[1], g.activation);
}

class Draws {
 public:
  explicit Draws(uint32_t seed) : engine_(seed) {}
  int64_t upto(int64_t low, int64_t high) {
    return low + static_cast<int64_t>(engine_() % static_cast<uint32_t>(high - low + 1));
  }
  HostTensor tensor(Shape shape) {
    HostTensor t(DType::kF32, std::move(shape));
    for (float& value : t.data<float>())
      value = static_cast<float>(engine_() % 2001) / 1000.0f - 1.0f;
    return t;
  }
  Geometry geometry() {
    for (;;) {
      Geometry g;
      g.attrs.strides = {upto(1, 3), upto(1, 3)};
      g.attrs.dilation = {upto(1, 2), upto(1, 2)};
      g.attrs.pad_low = {upto(0, 3), upto(0, 3)};
      g.attrs.pad_high = {upto(0, 3), upto(0, 3)};
      g.kernel = {upto(1, 5), upto(1, 5), 8 * upto(1, 6), 8 * upto(1, 7)};
      g.x = {upto(1, 9), upto(1, 12), upto(1, 12), g.kernel[2]};
      g.activation = static_cast<int>(upto(0, 4));
      bool is_possible = true;
      for (int i = 0; i < 2; ++i) {
        const auto axis = static_cast<size_t>(i);
        const int64_t reach = (g.kernel[i] - 1) * g.attrs.dilation[axis] + 1;
        if (g.x[i + 1] + g.attrs.pad_low[axis] + g.attrs.pad_high[axis] < reach)
          is_possible = false;
      }
      if (is_possible) return g;
    }
  }

 private:
  std::mt19937 engine_;
};

Value activate(Builder& b, Value x, int activation) {
  switch (activation) {
    case 1:
      return b.relu(x);
    case 2:
      return b.elu(x, {0.7, 1.1});
    case 3:
      return b.tanh(x);
    case 4:
      return b.logistic(x);
    default:
      return x;
  }
}

bool has_own_loops() {
  return native_block() == 8 && vector_floats() == 8;
}

/// y and the gradients of its weighted sum by x, kernel and bias, on the backend and by meaning.
/// Counts those that Winograd's algorithm computes.
void expect_meaning(const Geometry& g, Draws& draws, int* winograd = nullptr,
                    double tolerance = 1e-5) {
  SCOPED_TRACE(text_of(g));
  Graph graph;
  Builder b(graph);
  std::vector<HostTensor> inputs{draws.tensor(g.x), draws.tensor(g.kernel),
                                 draws.tensor({g.kernel[3]})};
  std::vector<Value> leaves;
  for (const HostTensor& input : inputs) leaves.push_back(b.parameter(input.type(), "leaf"));
  const Value y =
      activate(b, b.add(b.conv2d(leaves[0], leaves[1], g.attrs), leaves[2]), g.activation);
  inputs.push_back(draws.tensor(y.shape()));
  const Value cotangent = b.parameter(inputs.back().type(), "cotangent");
  graph.add_result(y);
  for (const Value& gradient : gradients(b, {{y, cotangent}}, leaves)) graph.add_result(gradient);

  const auto executable = make_onednn_backend()->compile(graph, {"test"});
  // Where we have loops, no quiet fallback to oneDNN; kernel gradients of 8 filters are oneDNN's.
  if (has_own_loops() && g.kernel[3] > 8) {
    const std::string text = executable->describe();
    if (winograd != nullptr && text.find("winograd") != std::string::npos) ++*winograd;
    EXPECT_EQ(text.find("jit"), std::string::npos) << text;
    EXPECT_EQ(text.find("gemm"), std::string::npos) << text;
  }
  expect_near(run(*executable, inputs), evaluate(graph, inputs), tolerance);
}

TEST(ConvolutionGeometry, Drawn) {
  Draws draws(7);
  for (int i = 0; i < 200 && !HasFatalFailure(); ++i) expect_meaning(draws.geometry(), draws);
}

/// What Winograd's algorithm takes: 3x3 kernels, no stride; tiles that hang over the edges, and
/// more groups than its loops hold at once.
TEST(ConvolutionGeometry, DrawnForWinograd) {
  Draws draws(11);
  int taken = 0;
  for (int i = 0; i < 30 && !HasFatalFailure(); ++i) {
    Geometry g = draws.geometry();
    g.attrs.strides = g.attrs.dilation = {1, 1};
    g.kernel = {3, 3, 8 * draws.upto(1, 12), 8 * draws.upto(2, 18)};
    g.x = {draws.upto(1, 12), draws.upto(5, 17), draws.upto(5, 17), g.kernel[2]};
    // Of so many sums some are nearly zero, where the slopes of relu and elu jump.
    if (g.activation == 1 || g.activation == 2) g.activation = 0;
    // Of sums of hundreds of products tanh and logistic leave 1, and all of their errors.
    expect_meaning(g, draws, &taken, g.activation == 0 ? 1e-5 : 5e-5);
  }
  if (has_own_loops()) {
    EXPECT_GT(taken, 15);
  }
}

/// An image's result has the same bits in whatever company.
TEST(ConvolutionGeometry, AnImageAlone) {
  Draws draws(12);
  for (const int64_t size : {7, 10}) {
    const Shape kernel{3, 3, 16, 40};
    HostTensor images = draws.tensor({29, size, size, 16}), weights = draws.tensor(kernel);
    const auto convolve = [&](const HostTensor& x) {
      Graph graph;
      Builder b(graph);
      const Value image = b.parameter(x.type(), "x");
      const Value filters = b.parameter(weights.type(), "kernel");
      graph.add_result(b.conv2d(image, filters, {.pad_low = {1, 1}, .pad_high = {1, 1}}));
      const auto executable = make_onednn_backend()->compile(graph, {"test"});
      if (has_own_loops()) {
        EXPECT_NE(executable->describe().find("winograd"), std::string::npos);
      }
      return run(*executable, {x, weights}).front();
    };
    const HostTensor all = convolve(images);
    HostTensor one(DType::kF32, {1, size, size, 16});
    const auto pixels = static_cast<size_t>(size * size);
    for (size_t i : {size_t{0}, size_t{17}, size_t{28}}) {
      std::copy_n(images.data<float>().begin() + static_cast<std::ptrdiff_t>(i * pixels * 16),
                  pixels * 16, one.data<float>().begin());
      const HostTensor alone = convolve(one);
      EXPECT_TRUE(
          std::equal(alone.data<float>().begin(), alone.data<float>().end(),
                     all.data<float>().begin() + static_cast<std::ptrdiff_t>(i * pixels * 40)))
          << "image " << i << " of size " << size;
    }
  }
}

TEST(ConvolutionGeometry, ImagesLargerThanACache) {
  Draws draws(8);
  const ConvAttrs same{.pad_low = {1, 1}, .pad_high = {1, 1}};
  const ConvAttrs half{.strides = {2, 2}, .pad_low = {1, 0}, .pad_high = {2, 1}};
  expect_meaning({{2, 75, 71, 8}, {3, 3, 8, 16}, same, 2}, draws);
  expect_meaning({{1, 151, 140, 8}, {3, 4, 8, 8}, half, 1}, draws);
  expect_meaning({{3, 80, 90, 16}, {1, 1, 16, 8}, {}, 0}, draws);
}

TEST(ConvolutionGeometry, MoreImagesThanABand) {
  Draws draws(9);
  expect_meaning({{301, 4, 4, 16}, {3, 3, 16, 40}, {.pad_low = {1, 1}, .pad_high = {1, 1}}, 2},
                 draws);
}

/// A place of an input gradient that no tap reaches is zero, whatever was in memory.
TEST(ConvolutionGeometry, PlacesWithoutTaps) {
  Draws draws(10);
  expect_meaning({{2, 9, 9, 8}, {1, 1, 8, 16}, {.strides = {3, 3}}, 0}, draws);
  expect_meaning({{2, 9, 10, 8}, {2, 2, 8, 8}, {.strides = {2, 3}, .dilation = {2, 2}}, 0}, draws);
}

}  // namespace
}  // namespace lockstep
