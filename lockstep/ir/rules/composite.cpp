// relu and elu, with their gradients told from the result so that the operand need not be kept.
#include "lockstep/ir/rules/rules.h"

namespace lockstep {

using namespace rules;

namespace {

// -- relu

void relu_eval(Inputs in, const Attrs&, Outputs out) {
  dispatch_float(in[0]->dtype(), [&]<class T>() {
    const auto x = in[0]->data<T>();
    const auto y = out[0].data<T>();
    for (size_t i = 0; i < x.size(); ++i) y[i] = x[i] > 0 || std::isnan(x[i]) ? x[i] : T{0};
  });
}

std::vector<Value> relu_vjp(const VjpArgs& args) {
  return {args.builder.relu_gradient(args.results[0], args.cotangents[0])};
}

void relu_gradient_eval(Inputs in, const Attrs&, Outputs out) {
  dispatch_float(in[0]->dtype(), [&]<class T>() {
    const auto y = in[0]->data<T>(), dy = in[1]->data<T>();
    for (size_t i = 0; i < y.size(); ++i) out[0].data<T>()[i] = y[i] > 0 ? dy[i] : T{0};
  });
}

std::vector<Value> relu_decompose(Builder& b, const Attrs&, std::span<const Value> x) {
  return {b.maximum(x[0], 0.0)};
}

std::vector<Value> relu_gradient_decompose(Builder& b, const Attrs&, std::span<const Value> in) {
  const Value is_positive = b.compare(in[0], 0.0, CompareDirection::kGt);
  return {b.select(is_positive, in[1], b.like(in[1], 0.0))};
}

// -- elu

template <class T>
void elu_values(Inputs in, const EluAttrs& a, Outputs out) {
  const T scale = static_cast<T>(a.scale), negative = static_cast<T>(a.scale * a.alpha);
  const auto x = in[0]->data<T>();
  for (size_t i = 0; i < x.size(); ++i)
    out[0].data<T>()[i] = x[i] > 0 ? scale * x[i] : negative * std::expm1(x[i]);
}

void elu_eval(Inputs in, const Attrs& attrs, Outputs out) {
  dispatch_float(in[0]->dtype(),
                 [&]<class T>() { elu_values<T>(in, std::get<EluAttrs>(attrs), out); });
}

std::vector<Value> elu_vjp(const VjpArgs& args) {
  return {args.builder.elu_gradient(args.results[0], args.cotangents[0],
                                    std::get<EluAttrs>(args.attrs))};
}

void elu_gradient_eval(Inputs in, const Attrs& attrs, Outputs out) {
  const auto& a = std::get<EluAttrs>(attrs);
  dispatch_float(in[0]->dtype(), [&]<class T>() {
    const T scale = static_cast<T>(a.scale), negative = static_cast<T>(a.scale * a.alpha);
    const auto y = in[0]->data<T>(), dy = in[1]->data<T>();
    for (size_t i = 0; i < y.size(); ++i)
      out[0].data<T>()[i] = dy[i] * (y[i] > 0 ? scale : y[i] + negative);
  });
}

std::vector<Value> elu_decompose(Builder& b, const Attrs& attrs, std::span<const Value> in) {
  const auto& a = std::get<EluAttrs>(attrs);
  const Value x = in[0];
  const Value negative = b.multiply(b.exponential_minus_one(b.minimum(x, 0.0)), a.scale * a.alpha);
  const Value is_positive = b.compare(x, 0.0, CompareDirection::kGt);
  return {b.select(is_positive, b.multiply(x, a.scale), negative)};
}

std::vector<Value> elu_gradient_decompose(Builder& b, const Attrs& attrs,
                                          std::span<const Value> in) {
  const auto& a = std::get<EluAttrs>(attrs);
  const Value y = in[0];
  const Value is_positive = b.compare(y, 0.0, CompareDirection::kGt);
  const Value negative = b.add(y, a.scale * a.alpha);
  return {b.multiply(in[1], b.select(is_positive, b.like(y, a.scale), negative))};
}

// -- samples

std::vector<OpSample> activation_samples(const Attrs& attrs) {
  return {
      {"odd", {uniform({3, 7}, -3, 3, 1)}, attrs, 2e-6},
      // Long for the vector bodies; "odd" has checked the gradient.
      {"long", {uniform({4, 1003}, -3, 3, 2)}, attrs, 2e-6, false},
      // At 0 the slope jumps.
      {"edges", {floats({6}, {0.0f, -0.0f, 1e-7f, -1e-7f, 50.0f, -50.0f})}, attrs, 2e-6, false}};
}
std::vector<OpSample> relu_samples() {
  return activation_samples(NoAttrs{});
}
std::vector<OpSample> elu_samples() {
  auto samples = activation_samples(EluAttrs{1.0, 1.0});
  for (OpSample& sample : activation_samples(EluAttrs{1.6732632423543772, 1.0507009873554805})) {
    sample.name = "selu_" + sample.name;
    samples.push_back(std::move(sample));
  }
  return samples;
}
std::vector<OpSample> gradient_samples(const Attrs& attrs) {
  return {{"odd", {uniform({3, 7}, -1, 3, 1), uniform({3, 7}, -1, 1, 2)}, attrs},
          {"long", {uniform({4, 1003}, -1, 3, 3), uniform({4, 1003}, -1, 1, 4)}, attrs},
          {"zero", {floats({3}, {0.0f, -0.0f, 1.0f}), floats({3}, {1, 2, 3})}, attrs}};
}
std::vector<OpSample> relu_gradient_samples() {
  return gradient_samples(NoAttrs{});
}
std::vector<OpSample> elu_gradient_samples() {
  return gradient_samples(EluAttrs{1.6732632423543772, 1.0507009873554805});
}

}  // namespace

DEFINE_RULES(Relu, {.infer = infer_float<"relu">,
                    .vjp = relu_vjp,
                    .eval = relu_eval,
                    .samples = relu_samples,
                    .decompose = relu_decompose})
DEFINE_RULES(ReluGradient, {.infer = infer_float_pair<"relu_gradient">,
                            .vjp = nullptr,
                            .eval = relu_gradient_eval,
                            .samples = relu_gradient_samples,
                            .decompose = relu_gradient_decompose})
DEFINE_RULES(Elu, {.infer = infer_float<"elu">,
                   .vjp = elu_vjp,
                   .eval = elu_eval,
                   .samples = elu_samples,
                   .decompose = elu_decompose})
DEFINE_RULES(EluGradient, {.infer = infer_float_pair<"elu_gradient">,
                           .vjp = nullptr,
                           .eval = elu_gradient_eval,
                           .samples = elu_gradient_samples,
                           .decompose = elu_gradient_decompose})

}  // namespace lockstep
