#include "lockstep/nn/activation.h"

#include <array>
#include <cmath>
#include <numbers>

#include "lockstep/nn/layer.h"
#include "lockstep/nn/registry.h"

namespace lockstep {
namespace {

constexpr double kSeluAlpha = 1.6732632423543772848170429916717;
constexpr double kSeluScale = 1.0507009873554804934193349852946;

Value where(Builder& b, Value x, CompareDirection direction, double bound, Value on_true,
            Value on_false) {
  return b.select(b.compare(x, bound, direction), on_true, on_false);
}

int last_axis(Value x) {
  return x.shape().rank() - 1;
}

Value linear(Builder&, Value x) {
  return x;
}
Value relu(Builder& b, Value x) {
  return b.relu(x);
}
Value relu6(Builder& b, Value x) {
  return b.minimum(b.relu(x), 6.0);
}
Value elu(Builder& b, Value x) {
  return b.elu(x, {.alpha = 1.0, .scale = 1.0});
}
Value selu(Builder& b, Value x) {
  return b.elu(x, {.alpha = kSeluAlpha, .scale = kSeluScale});
}
Value sigmoid(Builder& b, Value x) {
  return b.logistic(x);
}
Value tanh(Builder& b, Value x) {
  return b.tanh(x);
}
Value exponential(Builder& b, Value x) {
  return b.exponential(x);
}
Value softmax(Builder& b, Value x) {
  return b.softmax(x, last_axis(x));
}
Value log_softmax(Builder& b, Value x) {
  return b.log_softmax(x, last_axis(x));
}

Value leaky_relu(Builder& b, Value x) {
  return relu_with(b, x, {.max_value = std::nullopt, .negative_slope = 0.2});
}

Value gelu(Builder& b, Value x) {
  const Value scaled = b.multiply(x, 1.0 / std::numbers::sqrt2);
  return b.multiply(b.multiply(x, 0.5), b.add(b.erf(scaled), 1.0));
}

Value silu(Builder& b, Value x) {
  return b.multiply(x, b.logistic(x));
}

// Neither term overflows, and nothing is lost where x is far below 0.
Value softplus(Builder& b, Value x) {
  return b.add(b.maximum(x, 0.0), b.log_plus_one(b.exponential(b.negate(b.abs(x)))));
}

Value log_sigmoid(Builder& b, Value x) {
  return b.negate(softplus(b, b.negate(x)));
}
Value mish(Builder& b, Value x) {
  return b.multiply(x, b.tanh(softplus(b, x)));
}
Value softsign(Builder& b, Value x) {
  return b.divide(x, b.add(b.abs(x), 1.0));
}

Value squareplus(Builder& b, Value x) {
  return b.divide(b.add(x, b.sqrt(b.add(b.square(x), 4.0))), 2.0);
}

Value hard_sigmoid(Builder& b, Value x) {
  return b.divide(relu6(b, b.add(x, 3.0)), 6.0);
}
Value hard_silu(Builder& b, Value x) {
  return b.multiply(x, hard_sigmoid(b, x));
}
Value hard_tanh(Builder& b, Value x) {
  return b.minimum(b.maximum(x, -1.0), 1.0);
}
Value tanh_shrink(Builder& b, Value x) {
  return b.subtract(x, b.tanh(x));
}

Value hard_shrink(Builder& b, Value x) {
  return where(b, b.abs(x), CompareDirection::kGt, 0.5, x, b.like(x, 0.0));
}

Value soft_shrink(Builder& b, Value x) {
  const Value below = where(b, x, CompareDirection::kLt, -0.5, b.add(x, 0.5), b.like(x, 0.0));
  return where(b, x, CompareDirection::kGt, 0.5, b.subtract(x, 0.5), below);
}

Value sparse_plus(Builder& b, Value x) {
  const Value middle = b.multiply(b.square(b.add(x, 1.0)), 0.25);
  const Value above = where(b, x, CompareDirection::kLt, 1.0, middle, x);
  return where(b, x, CompareDirection::kLe, -1.0, b.like(x, 0.0), above);
}

Value sparse_sigmoid(Builder& b, Value x) {
  const Value middle = b.multiply(b.add(x, 1.0), 0.5);
  const Value above = where(b, x, CompareDirection::kGe, 1.0, b.like(x, 1.0), middle);
  return where(b, x, CompareDirection::kLe, -1.0, b.like(x, 0.0), above);
}

Value glu(Builder& b, Value x) {
  const Shape& shape = x.shape();
  const int axis = last_axis(x);
  if (axis < 0 || shape[axis] % 2 != 0)
    invalid_argument("glu", "the last axis must be even: {}", shape.str());
  Dims start(shape.rank(), 0), limit = shape.dims(), strides(shape.rank(), 1);
  const int64_t half = shape[axis] / 2;
  limit.back() = half;
  const Value value = b.slice(x, start, limit, strides);
  start.back() = half;
  limit.back() = 2 * half;
  return b.multiply(value, b.logistic(b.slice(x, start, limit, strides)));
}

// Sorting by counting: element i stands at rank r_i behind the larger ones, ties in index order,
// and c_i is the sum up to it. The threshold adds up c over the whole support, as Keras does;
// Martins and Astudillo take c of its last element only.
Value sparsemax(Builder& b, Value x) {
  const int axis = last_axis(x);
  if (axis < 0) invalid_argument("sparsemax", "the input must have an axis: {}", x.shape().str());
  const int64_t n = x.shape()[axis];
  Dims column = x.shape().dims(), row = x.shape().dims();
  column.push_back(1);
  row.insert(row.end() - 1, 1);
  Dims square = column;
  square.back() = n;
  const Value mine = b.broadcast_to(b.reshape(x, Shape(column)), Shape(square));
  const Value other = b.broadcast_to(b.reshape(x, Shape(row)), Shape(square));
  const TensorType indices{DType::kS32, Shape(square)};
  const Value not_after =
      b.compare(b.iota(indices, axis + 1), b.iota(indices, axis), CompareDirection::kLe);
  const Value ahead =
      b.logical_or(b.compare(other, mine, CompareDirection::kGt),
                   b.logical_and(b.compare(other, mine, CompareDirection::kEq), not_after));
  const Value zero = b.like(other, 0.0), one = b.like(other, 1.0);
  const Value rank = b.reduce_sum(b.select(ahead, one, zero), {axis + 1});
  const Value sum = b.reduce_sum(b.select(ahead, other, zero), {axis + 1});
  const Value support =
      b.compare(b.subtract(x, b.divide(b.subtract(sum, 1.0), rank)), 0.0, CompareDirection::kGt);
  const Value count = b.reduce_sum(b.select(support, b.like(x, 1.0), b.like(x, 0.0)), {axis});
  const Value total = b.reduce_sum(b.select(support, sum, b.like(x, 0.0)), {axis});
  const Value threshold = b.divide(b.subtract(total, 1.0), count);
  Dims kept = x.shape().dims();
  kept.back() = 1;
  return b.maximum(b.subtract(x, b.reshape(threshold, Shape(kept))), 0.0);
}

struct Row {
  std::string_view name;
  Value (*write)(Builder& builder, Value x);
};
constexpr std::array kRows = std::to_array<Row>({
    {"celu", elu},  // equal for alpha = 1
    {"elu", elu},
    {"exponential", exponential},
    {"gelu", gelu},
    {"glu", glu},
    {"hard_shrink", hard_shrink},
    {"hard_sigmoid", hard_sigmoid},
    {"hard_silu", hard_silu},
    {"hard_tanh", hard_tanh},
    {"leaky_relu", leaky_relu},
    {"linear", linear},
    {"log_sigmoid", log_sigmoid},
    {"log_softmax", log_softmax},
    {"mish", mish},
    {"relu", relu},
    {"relu6", relu6},
    {"selu", selu},
    {"sigmoid", sigmoid},
    {"silu", silu},
    {"soft_shrink", soft_shrink},
    {"softmax", softmax},
    {"softplus", softplus},
    {"softsign", softsign},
    {"sparse_plus", sparse_plus},
    {"sparse_sigmoid", sparse_sigmoid},
    {"sparsemax", sparsemax},
    {"squareplus", squareplus},
    {"tanh", tanh},
    {"tanh_shrink", tanh_shrink},
});

/// Keras writes a function under its own name, whatever it was asked for by.
std::string_view own_name(std::string_view name) {
  if (name == "swish") return "silu";
  if (name == "hard_swish") return "hard_silu";
  return name;
}

const Row* find_row(std::string_view name) {
  for (const Row& row : kRows)
    if (row.name == own_name(name)) return &row;
  return nullptr;
}

const Row& row_of(std::string_view name) {
  if (const Row* row = find_row(name)) return *row;
  const std::string closest = closest_name(name, activation_names());
  unsupported("activation", "unsupported activation \"{}\".{}", name,
              closest.empty() ? "" : fmt::format(" Did you mean \"{}\"?", closest));
}

}  // namespace

Value activation(Builder& builder, std::string_view name, Value x) {
  return row_of(name).write(builder, x);
}

bool is_known_activation(std::string_view name) {
  return find_row(name) != nullptr;
}

std::vector<std::string> activation_names() {
  std::vector<std::string> names;
  for (const Row& row : kRows) names.emplace_back(row.name);
  return names;
}

Value approximate_gelu(Builder& b, Value x) {
  const Value cube = b.multiply(b.square(x), x);
  const Value inner =
      b.multiply(b.add(x, b.multiply(cube, 0.044715)), std::sqrt(2.0 / std::numbers::pi));
  return b.multiply(b.multiply(x, 0.5), b.add(b.tanh(inner), 1.0));
}

Value relu_with(Builder& b, Value x, const ReluArguments& arguments) {
  const double slope = arguments.negative_slope, threshold = arguments.threshold;
  if (!arguments.max_value && threshold == 0.0) {
    if (slope == 0.0) return b.relu(x);
    return where(b, x, CompareDirection::kGt, 0.0, x, b.multiply(x, slope));
  }
  Value y = threshold == 0.0 ? b.relu(x)
                             : where(b, x, CompareDirection::kGt, threshold, x, b.like(x, 0.0));
  if (arguments.max_value) y = b.minimum(b.maximum(y, 0.0), *arguments.max_value);
  if (slope == 0.0) return y;
  const Value below = b.relu(threshold == 0.0 ? b.negate(x) : b.subtract(threshold, x));
  return b.subtract(y, b.multiply(below, slope));
}

ActivationFunction::ActivationFunction(std::string name) : name_(row_of(name).name) {}

ActivationFunction::ActivationFunction(LayerPtr layer) : layer_(std::move(layer)) {
  LOCKSTEP_CHECK(layer_ != nullptr);
}

ActivationFunction::ActivationFunction(const LayerHandle& layer)
    : ActivationFunction(layer.layer()) {}

ActivationFunction ActivationFunction::from_json(const Json& json) {
  if (json.is_null()) return {};
  if (json.is_string()) return json.get<std::string>();
  if (!json.is_object() || !json.contains("class_name"))
    invalid_argument("activation", "it must be a name or a serialised layer: {}", json.dump());
  if (json["class_name"] == "function" && json.contains("config") && json["config"].is_string())
    return json["config"].get<std::string>();
  return layer_from_config(json);
}

Json ActivationFunction::to_json() const {
  return layer_ ? layer_to_config(*layer_) : Json(name_);
}

Value ActivationFunction::apply(CallContext& context, Value x) const {
  if (layer_) return layer_->call(context, {x}).at(0);
  return activation(context.builder, name_, x);
}

}  // namespace lockstep
