// Elementwise ops of two and three operands, which have one shape (the builder broadcasts).
#include "lockstep/ir/rules/rules.h"

namespace lockstep {

using namespace rules;

namespace {

template <OpName kName>
std::vector<TensorType> infer_numbers(Types types, const Attrs&) {
  require_same(kName.text, types[0], types[1]);
  if (types[0].dtype == DType::kBool)
    invalid_argument(kName.text, "operands must be numbers: {}", types[0].str());
  return {types[0]};
}

template <class F>
void eval_binary(Inputs in, const Attrs&, Outputs out) {
  dispatch(in[0]->dtype(), [&]<class T>() {
    if constexpr (!std::is_same_v<T, bool>) {
      const auto a = in[0]->data<T>(), b = in[1]->data<T>();
      const auto y = out[0].data<T>();
      for (size_t i = 0; i < a.size(); ++i) y[i] = F{}(a[i], b[i]);
    }
  });
}

std::vector<OpSample> pairs(double low, double high, std::initializer_list<float> a,
                            std::initializer_list<float> b, double tolerance = 2e-6) {
  const auto n = static_cast<int64_t>(a.size());
  return {
      {"scalar", {uniform({}, low, high, 1), uniform({}, low, high, 2)}, NoAttrs{}, tolerance},
      {"odd", {uniform({3, 7}, low, high, 3), uniform({3, 7}, low, high, 4)}, NoAttrs{}, tolerance},
      // Long for the vector bodies; "odd" has checked the gradient.
      {"long",
       {uniform({5, 1003}, low, high, 5), uniform({5, 1003}, low, high, 6)},
       NoAttrs{},
       tolerance,
       false},
      // Infinities, NaN and ties have no difference quotient.
      {"edges",
       {HostTensor::from<float>({n}, std::span(a.begin(), a.size())),
        HostTensor::from<float>({n}, std::span(b.begin(), b.size()))},
       NoAttrs{},
       tolerance,
       false}};
}

/// The whole gradient goes to the operand that won: the first where `first_wins`, else the second.
std::vector<Value> to_winner(Builder& b, Value first_wins, Value dy) {
  const Value zero = b.like(dy, 0.0);
  return {b.select(first_wins, dy, zero), b.select(first_wins, zero, dy)};
}

/// Larger (or smaller) of two with NaN winning, as StableHLO defines it.
template <class T>
T maximum_of(T a, T b) {
  if (a != a) return a;
  return b != b ? b : (a > b ? a : b);
}
template <class T>
T minimum_of(T a, T b) {
  if (a != a) return a;
  return b != b ? b : (a < b ? a : b);
}

template <class T>
T power_of(T a, T b) {
  return static_cast<T>(std::pow(a, b));
}
template <class T>
T remainder_of(T a, T b) {
  if constexpr (std::is_floating_point_v<T>)
    return std::fmod(a, b);
  else
    return b == 0 ? a : static_cast<T>(a % b);
}
template <class T>
T quotient_of(T a, T b) {
  if constexpr (std::is_floating_point_v<T>)
    return a / b;
  else
    return b == 0 ? static_cast<T>(0) : static_cast<T>(a / b);
}

Value truncated(Builder& b, Value x) {
  return b.multiply(b.sign(x), b.floor(b.abs(x)));
}

std::vector<Value> power_gradient(Builder& b, Value x, Value p, Value y, Value dy) {
  const Value dx = b.multiply(dy, b.multiply(p, b.power(x, b.subtract(p, 1.0))));
  // log of a base that is not positive has no meaning; the exponent's gradient is 0 there.
  const Value positive = b.compare(x, 0.0, CompareDirection::kGt);
  const Value log_x = b.log(b.select(positive, x, b.like(x, 1.0)));
  return {dx, b.multiply(dy, b.multiply(y, log_x))};
}

}  // namespace

// BINARY(Id, mnemonic, y(a, p), {da, dp}(builder b, a, p, y, dy), samples)
#define BINARY(Id, mnemonic, y_of, grads, ...)                                                    \
  namespace {                                                                                     \
  struct Id##Eval {                                                                               \
    template <class T>                                                                            \
    T operator()(T a, T p) const {                                                                \
      return y_of;                                                                                \
    }                                                                                             \
  };                                                                                              \
  std::vector<Value> Id##_vjp(const VjpArgs& args) {                                              \
    [[maybe_unused]] Builder& b = args.builder;                                                   \
    [[maybe_unused]] const Value a = args.operands[0], p = args.operands[1], y = args.results[0], \
                                 dy = args.cotangents[0];                                         \
    return grads;                                                                                 \
  }                                                                                               \
  std::vector<OpSample> Id##_samples() {                                                          \
    return __VA_ARGS__;                                                                           \
  }                                                                                               \
  }                                                                                               \
  DEFINE_RULES(Id, {.infer = infer_numbers<mnemonic>,                                             \
                    .vjp = Id##_vjp,                                                              \
                    .eval = eval_binary<Id##Eval>,                                                \
                    .samples = Id##_samples})

#define LIST(...)      \
  std::vector<Value> { \
    __VA_ARGS__        \
  }

BINARY(Add, "add", static_cast<T>(a + p), LIST(dy, dy),
       pairs(-2, 2, {0, kInf, kInf}, {-0.0f, 1, -kInf}))
BINARY(Subtract, "subtract", static_cast<T>(a - p), LIST(dy, b.negate(dy)),
       pairs(-2, 2, {0, kInf, kInf}, {-0.0f, 1, kInf}))
BINARY(Multiply, "multiply", static_cast<T>(a* p), LIST(b.multiply(dy, p), b.multiply(dy, a)),
       pairs(-2, 2, {0, kInf, -1}, {-1, 0, kInf}))
BINARY(Divide, "divide", quotient_of(a, p),
       LIST(b.divide(dy, p), b.negate(b.multiply(dy, b.divide(y, p)))),
       pairs(0.5, 2, {0, 1, -1, 0}, {1, 0, 0, 0}))
BINARY(Maximum, "maximum", maximum_of(a, p),
       to_winner(b, b.compare(a, p, CompareDirection::kGe), dy),
       pairs(-2, 2, {1, kNan, 1, -kInf, 2}, {1, 1, kNan, 0, kInf}))
BINARY(Minimum, "minimum", minimum_of(a, p),
       to_winner(b, b.compare(a, p, CompareDirection::kLe), dy),
       pairs(-2, 2, {1, kNan, 1, -kInf, 2}, {1, 1, kNan, 0, kInf}))
BINARY(Power, "power", power_of(a, p), power_gradient(b, a, p, y, dy),
       pairs(0.5, 2, {0, 2, -2, 1, 4}, {2, 0, 3, kInf, 0.5f}, 1e-5))
BINARY(Remainder, "remainder", remainder_of(a, p),
       LIST(dy, b.negate(b.multiply(dy, truncated(b, b.divide(a, p))))),
       pairs(0.5, 3, {5, -5, 5, 1}, {3, 3, -3, 0.25f}))

#undef LIST
#undef BINARY

namespace {

template <OpName kName>
std::vector<TensorType> infer_logical(Types types, const Attrs&) {
  require_same(kName.text, types[0], types[1]);
  if (types[0].dtype != DType::kBool)
    invalid_argument(kName.text, "operands must be i1: {}", types[0].str());
  return {types[0]};
}

template <bool kIsAnd>
void eval_logical(Inputs in, const Attrs&, Outputs out) {
  const auto a = in[0]->data<bool>(), b = in[1]->data<bool>();
  for (size_t i = 0; i < a.size(); ++i)
    out[0].data<bool>()[i] = kIsAnd ? (a[i] && b[i]) : (a[i] || b[i]);
}

/// True in `period`'s multiples.
HostTensor every(size_t period, const Shape& shape) {
  HostTensor tensor(DType::kBool, shape);
  for (size_t i = 0; i < tensor.data<bool>().size(); ++i) tensor.data<bool>()[i] = i % period == 0;
  return tensor;
}

std::vector<OpSample> logical_samples() {
  return {{"four",
           {HostTensor::of<bool>({4}, {false, false, true, true}),
            HostTensor::of<bool>({4}, {false, true, false, true})},
           NoAttrs{}},
          {"scalar", {every(1, {}), every(1, {})}, NoAttrs{}},
          {"long", {every(2, {5, 1003}), every(3, {5, 1003})}, NoAttrs{}}};
}

std::vector<TensorType> compare_infer(Types types, const Attrs&) {
  require_same("compare", types[0], types[1]);
  return {{DType::kBool, types[0].shape}};
}

void compare_eval(Inputs in, const Attrs& attrs, Outputs out) {
  const CompareDirection direction = std::get<CompareAttrs>(attrs).direction;
  dispatch(in[0]->dtype(), [&]<class T>() {
    const auto a = in[0]->data<T>(), b = in[1]->data<T>();
    const auto y = out[0].data<bool>();
    for (size_t i = 0; i < a.size(); ++i) switch (direction) {
        case CompareDirection::kEq:
          y[i] = a[i] == b[i];
          break;
        case CompareDirection::kNe:
          y[i] = a[i] != b[i];
          break;
        case CompareDirection::kLt:
          y[i] = a[i] < b[i];
          break;
        case CompareDirection::kLe:
          y[i] = a[i] <= b[i];
          break;
        case CompareDirection::kGt:
          y[i] = a[i] > b[i];
          break;
        case CompareDirection::kGe:
          y[i] = a[i] >= b[i];
          break;
      }
  });
}

std::vector<OpSample> compare_samples() {
  std::vector<OpSample> samples;
  const std::pair<const char*, CompareDirection> directions[] = {
      {"eq", CompareDirection::kEq}, {"ne", CompareDirection::kNe}, {"lt", CompareDirection::kLt},
      {"le", CompareDirection::kLe}, {"gt", CompareDirection::kGt}, {"ge", CompareDirection::kGe}};
  for (const auto& [name, direction] : directions) {
    samples.push_back(
        {name,
         {floats({6}, {1, 2, 3, kNan, kNan, -0.0f}), floats({6}, {2, 2, 2, 1, kNan, 0.0f})},
         CompareAttrs{direction}});
    samples.push_back(
        {std::string(name) + "_ints",
         {HostTensor::of<int32_t>({3}, {1, 2, 3}), HostTensor::of<int32_t>({3}, {2, 2, 2})},
         CompareAttrs{direction}});
    samples.push_back({std::string(name) + "_long",
                       {uniform({5, 1003}, -1, 1, 1), uniform({5, 1003}, -1, 1, 2)},
                       CompareAttrs{direction}});
  }
  return samples;
}

std::vector<TensorType> select_infer(Types types, const Attrs&) {
  require_same("select", types[1], types[2]);
  if (types[0] != TensorType{DType::kBool, types[1].shape})
    invalid_argument("select", "condition must be i1{}: {}", types[1].shape.str(), types[0].str());
  return {types[1]};
}

void select_eval(Inputs in, const Attrs&, Outputs out) {
  for (int64_t i = 0; i < in[0]->size(); ++i)
    copy_element(in[0]->data<bool>()[static_cast<size_t>(i)] ? *in[1] : *in[2], i, out[0], i);
}

std::vector<Value> select_vjp(const VjpArgs& args) {
  Builder& b = args.builder;
  const Value zero = b.like(args.cotangents[0], 0.0);
  return {Value{}, b.select(args.operands[0], args.cotangents[0], zero),
          b.select(args.operands[0], zero, args.cotangents[0])};
}

std::vector<OpSample> select_samples() {
  return {{"scalar", {every(1, {}), uniform({}, -1, 1, 1), uniform({}, -1, 1, 2)}, NoAttrs{}},
          {"odd",
           {every(3, {3, 21}), uniform({3, 21}, -1, 1, 1), uniform({3, 21}, -1, 1, 2)},
           NoAttrs{}},
          // What is not chosen leaves no trace, NaN included.
          {"not_chosen",
           {every(2, {4}), floats({4}, {1, kNan, -0.0f, kInf}), floats({4}, {kNan, 2, kInf, 3})},
           NoAttrs{},
           0,
           false},
          {"ints",
           {every(2, {3}), HostTensor::of<int32_t>({3}, {1, 2, 3}),
            HostTensor::of<int32_t>({3}, {4, 5, 6})},
           NoAttrs{}},
          // Long for the vector bodies; "odd" has checked the gradient.
          {"long",
           {every(3, {5, 1003}), uniform({5, 1003}, -1, 1, 1), uniform({5, 1003}, -1, 1, 2)},
           NoAttrs{},
           1e-6,
           false}};
}

}  // namespace

DEFINE_RULES(And, {.infer = infer_logical<"and">,
                   .vjp = nullptr,
                   .eval = eval_logical<true>,
                   .samples = logical_samples})
DEFINE_RULES(Or, {.infer = infer_logical<"or">,
                  .vjp = nullptr,
                  .eval = eval_logical<false>,
                  .samples = logical_samples})
DEFINE_RULES(Compare, {.infer = compare_infer,
                       .vjp = nullptr,
                       .eval = compare_eval,
                       .samples = compare_samples})
DEFINE_RULES(Select, {.infer = select_infer,
                      .vjp = select_vjp,
                      .eval = select_eval,
                      .samples = select_samples})

}  // namespace lockstep
