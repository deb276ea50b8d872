// Elementwise ops of one operand.
#include "lockstep/ir/rules/rules.h"

namespace lockstep {

using namespace rules;

namespace {

template <class F>
void eval_unary(Inputs in, const Attrs&, Outputs out) {
  dispatch_float(in[0]->dtype(), [&]<class T>() {
    const auto x = in[0]->data<T>();
    const auto y = out[0].data<T>();
    for (size_t i = 0; i < x.size(); ++i) y[i] = F{}(x[i]);
  });
}

std::vector<OpSample> samples_in(double low, double high, std::initializer_list<float> edges,
                                 double tolerance = 2e-6) {
  const auto n = static_cast<int64_t>(edges.size());
  return {{"scalar", {uniform({}, low, high, 1)}, NoAttrs{}, tolerance},
          {"odd", {uniform({3, 7}, low, high, 2)}, NoAttrs{}, tolerance},
          // Long for the vector bodies; "odd" has checked the gradient.
          {"long", {uniform({5, 1003}, low, high, 3)}, NoAttrs{}, tolerance, false},
          // Kinks, poles and infinities have no difference quotient.
          {"edges",
           {HostTensor::from<float>({n}, std::span(edges.begin(), edges.size()))},
           NoAttrs{},
           tolerance,
           false}};
}

}  // namespace

// UNARY(Id, mnemonic, y(x), dx(builder b, x, y, dy), samples)
#define UNARY(Id, mnemonic, y_of_x, dx_of, ...)                             \
  namespace {                                                               \
  struct Id##Eval {                                                         \
    template <class T>                                                      \
    T operator()(T x) const {                                               \
      return y_of_x;                                                        \
    }                                                                       \
  };                                                                        \
  std::vector<Value> Id##_vjp(const VjpArgs& args) {                        \
    [[maybe_unused]] Builder& b = args.builder;                             \
    [[maybe_unused]] const Value x = args.operands[0], y = args.results[0], \
                                 dy = args.cotangents[0];                   \
    return {dx_of};                                                         \
  }                                                                         \
  std::vector<OpSample> Id##_samples() {                                    \
    return __VA_ARGS__;                                                     \
  }                                                                         \
  }                                                                         \
  DEFINE_RULES(Id, {.infer = infer_float<mnemonic>,                         \
                    .vjp = Id##_vjp,                                        \
                    .eval = eval_unary<Id##Eval>,                           \
                    .samples = Id##_samples})

UNARY(Abs, "abs", std::abs(x), b.multiply(dy, b.sign(x)),
      samples_in(-2, 2, {0.0f, -0.0f, -1.0f, kInf, -kInf, kNan}))
UNARY(Negate, "negate", -x, b.negate(dy), samples_in(-2, 2, {0.0f, kInf, kNan}))
UNARY(Sign, "sign", std::isnan(x) ? x : static_cast<T>((x > 0) - (x < 0)), Value{},
      samples_in(-2, 2, {0.0f, -0.0f, kInf, -kInf, kNan}))
UNARY(Floor, "floor", std::floor(x), Value{}, samples_in(-3, 3, {-1.0f, -0.5f, 2.0f, 1e10f, kInf}))
UNARY(RoundNearestEven, "round_nearest_even", std::nearbyint(x), Value{},
      samples_in(-3, 3, {-1.5f, -0.5f, 0.5f, 1.5f, 2.5f, 1e10f}))
UNARY(Exponential, "exponential", std::exp(x), b.multiply(dy, y),
      samples_in(-4, 4, {0.0f, 80.0f, -80.0f, 100.0f, -200.0f, kInf, -kInf, kNan}))
UNARY(ExponentialMinusOne, "exponential_minus_one", std::expm1(x), b.multiply(dy, b.add(y, 1.0)),
      samples_in(-2, 2, {0.0f, 1e-6f, -1e-6f, 80.0f, -80.0f, -kInf}))
UNARY(Log, "log", std::log(x), b.divide(dy, x),
      samples_in(0.1, 4, {1.0f, 1e-30f, 1e30f, 0.0f, kInf}))
UNARY(LogPlusOne, "log_plus_one", std::log1p(x), b.divide(dy, b.add(x, 1.0)),
      samples_in(-0.5, 4, {0.0f, 1e-6f, -1e-6f, 1e30f, kInf}))
UNARY(Logistic, "logistic", 1 / (1 + std::exp(-x)),
      b.multiply(dy, b.multiply(y, b.subtract(1.0, y))),
      samples_in(-4, 4, {0.0f, 30.0f, -30.0f, 88.0f, -88.0f}))
UNARY(Tanh, "tanh", std::tanh(x), b.multiply(dy, b.subtract(1.0, b.square(y))),
      samples_in(-3, 3, {0.0f, 1e-4f, 20.0f, -20.0f, kInf, -kInf}))
UNARY(Erf, "erf", std::erf(x),
      b.multiply(dy, b.multiply(b.exponential(b.negate(b.square(x))), 1.1283791670955126)),
      samples_in(-3, 3, {0.0f, 1e-4f, 5.0f, -5.0f}))
UNARY(Sqrt, "sqrt", std::sqrt(x), b.divide(b.multiply(dy, 0.5), y),
      samples_in(0.1, 4, {0.0f, 1e-30f, 1e30f, kInf}))
UNARY(Rsqrt, "rsqrt", 1 / std::sqrt(x), b.multiply(b.multiply(dy, -0.5), b.divide(y, x)),
      samples_in(0.1, 4, {1e-30f, 1e30f, kInf}))
UNARY(Sine, "sine", std::sin(x), b.multiply(dy, b.cosine(x)),
      samples_in(-4, 4, {0.0f, 3.1415927f, 20.0f}))
UNARY(Cosine, "cosine", std::cos(x), b.negate(b.multiply(dy, b.sine(x))),
      samples_in(-4, 4, {0.0f, 3.1415927f, 20.0f}))

#undef UNARY

namespace {

std::vector<TensorType> is_finite_infer(Types types, const Attrs&) {
  require_float("is_finite", types[0]);
  return {{DType::kBool, types[0].shape}};
}

void is_finite_eval(Inputs in, const Attrs&, Outputs out) {
  dispatch_float(in[0]->dtype(), [&]<class T>() {
    for (int64_t i = 0; i < in[0]->size(); ++i)
      out[0].data<bool>()[static_cast<size_t>(i)] =
          std::isfinite(in[0]->data<T>()[static_cast<size_t>(i)]);
  });
}

std::vector<TensorType> not_infer(Types types, const Attrs&) {
  if (types[0].dtype != DType::kBool)
    invalid_argument("not", "operand must be i1: {}", types[0].str());
  return {types[0]};
}

void not_eval(Inputs in, const Attrs&, Outputs out) {
  for (size_t i = 0; i < static_cast<size_t>(in[0]->size()); ++i)
    out[0].data<bool>()[i] = !in[0]->data<bool>()[i];
}

std::vector<Value> convert_vjp(const VjpArgs& args) {
  const Value x = args.operands[0];
  if (!is_float(x.dtype()) || !is_float(args.results[0].dtype())) return {Value{}};
  return {args.builder.convert(args.cotangents[0], x.dtype())};
}

void convert_eval(Inputs in, const Attrs& attrs, Outputs out) {
  out[0] = in[0]->as(std::get<ConvertAttrs>(attrs).dtype);
}

HostTensor bools(const Shape& shape) {
  HostTensor tensor(DType::kBool, shape);
  for (size_t i = 0; i < tensor.data<bool>().size(); ++i) tensor.data<bool>()[i] = i % 3 == 0;
  return tensor;
}

std::vector<OpSample> not_samples() {
  return {{"scalar", {bools({})}, NoAttrs{}},
          {"odd", {bools({3, 7})}, NoAttrs{}},
          {"long", {bools({5, 1003})}, NoAttrs{}}};
}

std::vector<OpSample> convert_samples() {
  const HostTensor integers = HostTensor::of<int32_t>({3}, {1, -2, 70000});
  const HostTensor wide = uniform({5, 1003}, -200, 200, 1);
  return {
      {"float_to_int", {floats({5}, {0.0f, 1.7f, -1.7f, 100.0f, 3.0f})}, ConvertAttrs{DType::kS32}},
      {"float_to_int_long", {wide}, ConvertAttrs{DType::kS32}},
      {"float_to_float", {uniform({3, 7}, -2, 2, 1)}, ConvertAttrs{DType::kF32}},
      {"float_to_bool", {floats({4}, {0.0f, -0.0f, 1.0f, -0.5f})}, ConvertAttrs{DType::kBool}},
      {"int_to_float", {integers}, ConvertAttrs{DType::kF32}},
      {"int_to_float_long", {wide.as(DType::kS32)}, ConvertAttrs{DType::kF32}},
      {"int_to_bytes", {HostTensor::of<int32_t>({3}, {0, 7, 255})}, ConvertAttrs{DType::kU8}},
      {"bytes_to_float",
       {HostTensor::of<uint8_t>({2, 3}, {0, 1, 127, 128, 254, 255})},
       ConvertAttrs{DType::kF32}},
      {"bytes_to_int", {HostTensor::of<uint8_t>({3}, {0, 128, 255})}, ConvertAttrs{DType::kS32}},
      {"unsigned_to_float", {HostTensor::of<uint32_t>({}, {70000})}, ConvertAttrs{DType::kF32}},
      {"bool_to_float", {bools({3})}, ConvertAttrs{DType::kF32}},
      {"bool_to_float_long", {bools({5, 1003})}, ConvertAttrs{DType::kF32}},
      {"bool_to_int", {bools({3, 7})}, ConvertAttrs{DType::kS32}},
      {"long_to_int", {integers.as(DType::kS64)}, ConvertAttrs{DType::kS32}}};
}

}  // namespace

DEFINE_RULES(IsFinite,
             {.infer = is_finite_infer, .vjp = nullptr, .eval = is_finite_eval, .samples = [] {
                return samples_in(-2, 2, {0.0f, kInf, -kInf, kNan});
              }})
DEFINE_RULES(Not, {.infer = not_infer, .vjp = nullptr, .eval = not_eval, .samples = not_samples})
DEFINE_RULES(Convert, {.infer = [](Types types, const Attrs& attrs) -> std::vector<TensorType> {
                         return {{std::get<ConvertAttrs>(attrs).dtype, types[0].shape}};
                       },
                       .vjp = convert_vjp,
                       .eval = convert_eval,
                       .samples = convert_samples})

}  // namespace lockstep
