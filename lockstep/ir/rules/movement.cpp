// Ops that move elements without arithmetic.
#include <numeric>

#include "lockstep/ir/rules/rules.h"

namespace lockstep {

using namespace rules;

namespace {

size_t at(int axis) {
  return static_cast<size_t>(axis);
}

// -- reshape

std::vector<TensorType> reshape_infer(Types types, const Attrs& attrs) {
  const Shape& shape = std::get<ReshapeAttrs>(attrs).shape;
  require_known("reshape", {types[0].dtype, shape});
  if (shape.size() != types[0].size())
    invalid_argument("reshape", "sizes must match: {} to {}", types[0].str(), shape.str());
  return {{types[0].dtype, shape}};
}

void reshape_eval(Inputs in, const Attrs&, Outputs out) {
  if (in[0]->size_bytes() > 0) std::memcpy(out[0].bytes(), in[0]->bytes(), in[0]->size_bytes());
}

std::vector<Value> reshape_vjp(const VjpArgs& args) {
  return {args.builder.reshape(args.cotangents[0], args.operands[0].shape())};
}

// -- transpose

std::vector<TensorType> transpose_infer(Types types, const Attrs& attrs) {
  const Dims& permutation = std::get<TransposeAttrs>(attrs).permutation;
  Dims sorted = permutation, all(at(types[0].shape.rank()));
  std::sort(sorted.begin(), sorted.end());
  std::iota(all.begin(), all.end(), 0);
  if (sorted != all)
    invalid_argument("transpose", "permutation must name each axis of {} once", types[0].str());
  Shape shape;
  for (int64_t axis : permutation) shape.dims().push_back(types[0].shape[static_cast<int>(axis)]);
  return {{types[0].dtype, shape}};
}

void transpose_eval(Inputs in, const Attrs& attrs, Outputs out) {
  const Dims& permutation = std::get<TransposeAttrs>(attrs).permutation;
  const Dims strides = in[0]->shape().strides();
  int64_t to = 0;
  for_each_index(out[0].shape(), [&](const Dims& index) {
    int64_t from = 0;
    for (size_t i = 0; i < index.size(); ++i)
      from += index[i] * strides[static_cast<size_t>(permutation[i])];
    copy_element(*in[0], from, out[0], to++);
  });
}

std::vector<Value> transpose_vjp(const VjpArgs& args) {
  const Dims& permutation = std::get<TransposeAttrs>(args.attrs).permutation;
  Dims inverse(permutation.size());
  for (size_t i = 0; i < permutation.size(); ++i)
    inverse[static_cast<size_t>(permutation[i])] = static_cast<int64_t>(i);
  return {args.builder.transpose(args.cotangents[0], inverse)};
}

// -- broadcast_in_dim

std::vector<TensorType> broadcast_infer(Types types, const Attrs& attrs) {
  const auto& a = std::get<BroadcastAttrs>(attrs);
  require_known("broadcast_in_dim", {types[0].dtype, a.shape});
  bool fits = static_cast<int>(a.dimensions.size()) == types[0].shape.rank();
  for (size_t i = 0; fits && i < a.dimensions.size(); ++i) {
    const int64_t axis = a.dimensions[i];
    const int64_t extent = types[0].shape[static_cast<int>(i)];
    fits = axis >= 0 && axis < a.shape.rank() && (i == 0 || a.dimensions[i - 1] < axis) &&
           (extent == 1 || extent == a.shape[static_cast<int>(axis)]);
  }
  if (!fits)
    invalid_argument("broadcast_in_dim",
                     "each axis of the operand must map, ascending, to an equal extent: {} to {}",
                     types[0].str(), a.shape.str());
  return {{types[0].dtype, a.shape}};
}

void broadcast_eval(Inputs in, const Attrs& attrs, Outputs out) {
  const auto& a = std::get<BroadcastAttrs>(attrs);
  const Dims strides = in[0]->shape().strides();
  int64_t to = 0;
  for_each_index(out[0].shape(), [&](const Dims& index) {
    int64_t from = 0;
    for (size_t i = 0; i < a.dimensions.size(); ++i)
      if (in[0]->shape()[static_cast<int>(i)] != 1)
        from += index[static_cast<size_t>(a.dimensions[i])] * strides[i];
    copy_element(*in[0], from, out[0], to++);
  });
}

std::vector<Value> broadcast_vjp(const VjpArgs& args) {
  const auto& a = std::get<BroadcastAttrs>(args.attrs);
  const Shape& operand = args.operands[0].shape();
  Dims reduced;
  for (int axis = 0; axis < a.shape.rank(); ++axis) {
    const auto it = std::find(a.dimensions.begin(), a.dimensions.end(), axis);
    const bool is_new = it == a.dimensions.end();
    if (is_new || (operand[static_cast<int>(it - a.dimensions.begin())] == 1 && a.shape[axis] != 1))
      reduced.push_back(axis);
  }
  return {args.builder.reshape(args.builder.reduce_sum(args.cotangents[0], reduced), operand)};
}

// -- slice

std::vector<TensorType> slice_infer(Types types, const Attrs& attrs) {
  const auto& a = std::get<SliceAttrs>(attrs);
  const Shape& shape = types[0].shape;
  const size_t rank = at(shape.rank());
  bool fits = a.start.size() == rank && a.limit.size() == rank && a.strides.size() == rank;
  Shape result;
  for (size_t i = 0; fits && i < rank; ++i) {
    fits = a.start[i] >= 0 && a.start[i] <= a.limit[i] &&
           a.limit[i] <= shape[static_cast<int>(i)] && a.strides[i] >= 1;
    if (fits) result.dims().push_back((a.limit[i] - a.start[i] + a.strides[i] - 1) / a.strides[i]);
  }
  if (!fits)
    invalid_argument("slice", "0 <= start <= limit <= extent and stride >= 1 on every axis of {}",
                     types[0].str());
  return {{types[0].dtype, result}};
}

void slice_eval(Inputs in, const Attrs& attrs, Outputs out) {
  const auto& a = std::get<SliceAttrs>(attrs);
  const Dims strides = in[0]->shape().strides();
  int64_t to = 0;
  for_each_index(out[0].shape(), [&](const Dims& index) {
    int64_t from = 0;
    for (size_t i = 0; i < index.size(); ++i)
      from += (a.start[i] + index[i] * a.strides[i]) * strides[i];
    copy_element(*in[0], from, out[0], to++);
  });
}

std::vector<Value> slice_vjp(const VjpArgs& args) {
  const auto& a = std::get<SliceAttrs>(args.attrs);
  const Shape& shape = args.operands[0].shape();
  const Value dy = args.cotangents[0];
  Dims high, interior;
  for (size_t i = 0; i < a.start.size(); ++i) {
    const int64_t n = dy.shape()[static_cast<int>(i)];
    const int64_t used = n == 0 ? 0 : (n - 1) * a.strides[i] + 1;
    high.push_back(shape[static_cast<int>(i)] - a.start[i] - used);
    interior.push_back(a.strides[i] - 1);
  }
  return {args.builder.pad(dy, args.builder.constant(0.0, dy.dtype()), a.start, high, interior)};
}

// -- pad

std::vector<TensorType> pad_infer(Types types, const Attrs& attrs) {
  const auto& a = std::get<PadAttrs>(attrs);
  const size_t rank = at(types[0].shape.rank());
  if (types[1] != TensorType{types[0].dtype, {}})
    invalid_argument("pad", "padding value must be a {} scalar: {}", dtype_name(types[0].dtype),
                     types[1].str());
  if (a.low.size() != rank || a.high.size() != rank || a.interior.size() != rank)
    invalid_argument("pad", "low, high and interior must have one entry an axis of {}",
                     types[0].str());
  Shape result;
  for (size_t i = 0; i < rank; ++i) {
    const int64_t n = types[0].shape[static_cast<int>(i)];
    const int64_t extent = a.low[i] + a.high[i] + n + (n > 0 ? (n - 1) * a.interior[i] : 0);
    if (extent < 0 || a.interior[i] < 0)
      invalid_argument("pad", "the result must not have a negative extent: {} padded by {} and {}",
                       types[0].str(), a.low[i], a.high[i]);
    result.dims().push_back(extent);
  }
  return {{types[0].dtype, result}};
}

void pad_eval(Inputs in, const Attrs& attrs, Outputs out) {
  const auto& a = std::get<PadAttrs>(attrs);
  for (int64_t i = 0; i < out[0].size(); ++i) copy_element(*in[1], 0, out[0], i);
  const Dims strides = out[0].shape().strides();
  int64_t from = 0;
  for_each_index(in[0]->shape(), [&](const Dims& index) {
    int64_t to = 0;
    bool inside = true;
    for (size_t i = 0; i < index.size(); ++i) {
      const int64_t position = a.low[i] + index[i] * (a.interior[i] + 1);
      inside = inside && position >= 0 && position < out[0].shape()[static_cast<int>(i)];
      to += position * strides[i];
    }
    if (inside) copy_element(*in[0], from, out[0], to);
    ++from;
  });
}

std::vector<Value> pad_vjp(const VjpArgs& args) {
  const auto& a = std::get<PadAttrs>(args.attrs);
  Builder& b = args.builder;
  const Value dy = args.cotangents[0];
  const Shape& shape = args.operands[0].shape();
  // Negative padding first (a crop), by padding the cotangent; then the elements by a strided
  // slice.
  Dims low, high, none(a.low.size(), 0), start, limit, strides;
  for (size_t i = 0; i < a.low.size(); ++i) {
    low.push_back(std::max<int64_t>(0, -a.low[i]));
    high.push_back(std::max<int64_t>(0, -a.high[i]));
    const int64_t n = shape[static_cast<int>(i)];
    start.push_back(std::max<int64_t>(0, a.low[i]));
    limit.push_back(start.back() + (n == 0 ? 0 : (n - 1) * (a.interior[i] + 1) + 1));
    strides.push_back(a.interior[i] + 1);
  }
  const Value whole =
      low == none && high == none ? dy : b.pad(dy, b.constant(0.0, dy.dtype()), low, high, none);
  const Value dx = b.slice(whole, start, limit, strides);
  Dims axes(at(dy.shape().rank()));
  std::iota(axes.begin(), axes.end(), 0);
  return {dx, b.subtract(b.reduce_sum(dy, axes), b.reduce_sum(dx, axes))};
}

// -- concatenate

std::vector<TensorType> concatenate_infer(Types types, const Attrs& attrs) {
  const int axis = std::get<AxisAttrs>(attrs).axis;
  if (types.empty()) invalid_argument("concatenate", "at least one operand expected: none came");
  require_axis("concatenate", types[0], axis);
  TensorType result = types[0];
  for (size_t i = 1; i < types.size(); ++i) {
    TensorType other = types[i];
    if (other.shape.rank() == result.shape.rank()) {
      const int64_t extent = other.shape[axis];
      other.shape[axis] = result.shape[axis];
      if (other == result) {
        result.shape[axis] += extent;
        continue;
      }
    }
    invalid_argument("concatenate", "operands must agree but for axis {}: {} and {}", axis,
                     types[0].str(), types[i].str());
  }
  return {result};
}

void concatenate_eval(Inputs in, const Attrs& attrs, Outputs out) {
  const auto axis = at(std::get<AxisAttrs>(attrs).axis);
  const Dims strides = out[0].shape().strides();
  int64_t offset = 0;
  for (const HostTensor* operand : in) {
    int64_t from = 0;
    for_each_index(operand->shape(), [&](const Dims& index) {
      copy_element(*operand, from++, out[0], linear_index(index, strides) + offset * strides[axis]);
    });
    offset += operand->shape()[static_cast<int>(axis)];
  }
}

std::vector<Value> concatenate_vjp(const VjpArgs& args) {
  const auto axis = at(std::get<AxisAttrs>(args.attrs).axis);
  const Value dy = args.cotangents[0];
  Dims start(at(dy.shape().rank()), 0), limit = dy.shape().dims();
  const Dims strides(start.size(), 1);
  std::vector<Value> grads;
  for (const Value& operand : args.operands) {
    limit[axis] = start[axis] + operand.shape()[static_cast<int>(axis)];
    grads.push_back(args.builder.slice(dy, start, limit, strides));
    start[axis] = limit[axis];
  }
  return grads;
}

// -- reverse

std::vector<TensorType> reverse_infer(Types types, const Attrs& attrs) {
  require_axes("reverse", types[0], std::get<AxesAttrs>(attrs).axes);
  return {types[0]};
}

void reverse_eval(Inputs in, const Attrs& attrs, Outputs out) {
  const Shape& shape = in[0]->shape();
  const Dims strides = shape.strides();
  int64_t from = 0;
  for_each_index(shape, [&](Dims index) {
    for (int64_t axis : std::get<AxesAttrs>(attrs).axes)
      index[static_cast<size_t>(axis)] =
          shape[static_cast<int>(axis)] - 1 - index[static_cast<size_t>(axis)];
    copy_element(*in[0], from++, out[0], linear_index(index, strides));
  });
}

std::vector<Value> reverse_vjp(const VjpArgs& args) {
  return {args.builder.reverse(args.cotangents[0], std::get<AxesAttrs>(args.attrs).axes)};
}

HostTensor bytes() {
  return HostTensor::of<uint8_t>({2, 3}, {1, 2, 3, 4, 5, 6});
}

std::vector<OpSample> reshape_samples() {
  return {{"flatten", {uniform({2, 3, 5}, -1, 1, 1)}, ReshapeAttrs{{2, 15}}},
          {"scalar", {uniform({1, 1}, -1, 1, 1)}, ReshapeAttrs{{}}},
          {"to_ones", {uniform({6}, -1, 1, 1)}, ReshapeAttrs{{1, 6, 1}}},
          {"bytes", {bytes()}, ReshapeAttrs{{6}}},
          // Long for the vector bodies; the small samples have checked the gradient.
          {"long", {uniform({17, 257}, -1, 1, 2)}, ReshapeAttrs{{257, 17}}, 0, false}};
}
std::vector<OpSample> transpose_samples() {
  return {{"matrix", {uniform({3, 5}, -1, 1, 1)}, TransposeAttrs{{1, 0}}},
          {"nhwc_to_nchw", {uniform({2, 3, 4, 17}, -1, 1, 1)}, TransposeAttrs{{0, 3, 1, 2}}},
          {"swap_rows", {uniform({3, 4, 5}, -1, 1, 1)}, TransposeAttrs{{1, 0, 2}}},
          {"bytes", {bytes()}, TransposeAttrs{{1, 0}}},
          // Long for the vector bodies; the small samples have checked the gradient.
          {"long", {uniform({37, 131}, -1, 1, 2)}, TransposeAttrs{{1, 0}}, 0, false}};
}
std::vector<OpSample> broadcast_samples() {
  return {{"scalar", {uniform({}, -1, 1, 1)}, BroadcastAttrs{{3, 5}, {}}},
          {"channels", {uniform({19}, -1, 1, 1)}, BroadcastAttrs{{2, 3, 19}, {2}}},
          {"rows", {uniform({3}, -1, 1, 1)}, BroadcastAttrs{{3, 20}, {0}}},
          {"ones", {uniform({3, 1, 5}, -1, 1, 1)}, BroadcastAttrs{{2, 3, 4, 5}, {1, 2, 3}}},
          {"middle", {uniform({2, 1, 3}, -1, 1, 1)}, BroadcastAttrs{{2, 5, 3}, {0, 1, 2}}},
          {"bytes", {bytes()}, BroadcastAttrs{{2, 3, 2}, {0, 1}}},
          // Long for the vector bodies; the small samples have checked the gradient.
          {"long", {uniform({33}, -1, 1, 2)}, BroadcastAttrs{{9, 11, 33}, {2}}, 0, false},
          {"long_rows", {uniform({9}, -1, 1, 2)}, BroadcastAttrs{{9, 11, 33}, {0}}, 0, false}};
}
std::vector<OpSample> slice_samples() {
  return {
      {"strided", {uniform({5, 7}, -1, 1, 1)}, SliceAttrs{{1, 0}, {5, 6}, {2, 3}}},
      {"rows", {uniform({4, 33}, -1, 1, 1)}, SliceAttrs{{1, 0}, {3, 33}, {1, 1}}},
      {"empty", {uniform({3, 4}, -1, 1, 1)}, SliceAttrs{{1, 2}, {1, 4}, {1, 1}}},
      {"bytes", {bytes()}, SliceAttrs{{0, 1}, {2, 3}, {1, 1}}},
      // Long for the vector bodies; the small samples have checked the gradient.
      {"long", {uniform({19, 331}, -1, 1, 2)}, SliceAttrs{{1, 3}, {19, 330}, {1, 2}}, 0, false}};
}
std::vector<OpSample> pad_samples() {
  return {
      {"edges",
       {uniform({3, 4}, -1, 1, 1), uniform({}, -1, 1, 2)},
       PadAttrs{{1, 0}, {2, 1}, {0, 0}}},
      {"interior",
       {uniform({3, 4}, -1, 1, 1), uniform({}, -1, 1, 2)},
       PadAttrs{{0, 2}, {1, 0}, {1, 2}}},
      {"crop",
       {uniform({5, 4}, -1, 1, 1), uniform({}, -1, 1, 2)},
       PadAttrs{{-1, 1}, {-2, 0}, {0, 0}}},
      {"images",
       {uniform({2, 5, 6, 3}, -1, 1, 1), uniform({}, 0, 0, 2)},
       PadAttrs{{0, 1, 2, 0}, {0, 1, 1, 0}, {0, 0, 0, 0}}},
      {"crop_interior", {uniform({5}, -1, 1, 1), uniform({}, -1, 1, 2)}, PadAttrs{{-2}, {-1}, {1}}},
      // Long for the vector bodies; the small samples have checked the gradient.
      {"long",
       {uniform({2, 13, 13, 16}, -1, 1, 1), uniform({}, -1, 1, 2)},
       PadAttrs{{0, 1, 1, 0}, {0, 2, 2, 0}, {0, 0, 0, 0}},
       0,
       false}};
}
std::vector<OpSample> concatenate_samples() {
  return {{"columns",
           {uniform({3, 4}, -1, 1, 1), uniform({3, 2}, -1, 1, 2), uniform({3, 17}, -1, 1, 3)},
           AxisAttrs{1}},
          {"rows", {uniform({1, 4}, -1, 1, 1), uniform({3, 4}, -1, 1, 2)}, AxisAttrs{0}},
          {"channels",
           {uniform({2, 3, 3, 4}, -1, 1, 1), uniform({2, 3, 3, 8}, -1, 1, 2)},
           AxisAttrs{3}},
          {"single", {uniform({2, 3}, -1, 1, 1)}, AxisAttrs{0}},
          {"bytes", {bytes(), bytes()}, AxisAttrs{1}},
          // Long for the vector bodies; the small samples have checked the gradient.
          {"long",
           {uniform({9, 11, 32}, -1, 1, 1), uniform({9, 11, 21}, -1, 1, 2)},
           AxisAttrs{2},
           0,
           false}};
}
std::vector<OpSample> reverse_samples() {
  return {{"both", {uniform({3, 5}, -1, 1, 1)}, AxesAttrs{{0, 1}}},
          {"middle", {uniform({2, 5, 3}, -1, 1, 1)}, AxesAttrs{{1}}},
          {"bytes", {bytes()}, AxesAttrs{{1}}},
          // Long for the vector bodies; the small samples have checked the gradient.
          {"long", {uniform({9, 331}, -1, 1, 2)}, AxesAttrs{{1}}, 0, false}};
}

}  // namespace

DEFINE_RULES(Reshape, {.infer = reshape_infer,
                       .vjp = reshape_vjp,
                       .eval = reshape_eval,
                       .samples = reshape_samples})
DEFINE_RULES(Transpose, {.infer = transpose_infer,
                         .vjp = transpose_vjp,
                         .eval = transpose_eval,
                         .samples = transpose_samples})
DEFINE_RULES(BroadcastInDim, {.infer = broadcast_infer,
                              .vjp = broadcast_vjp,
                              .eval = broadcast_eval,
                              .samples = broadcast_samples})
DEFINE_RULES(Slice,
             {.infer = slice_infer, .vjp = slice_vjp, .eval = slice_eval, .samples = slice_samples})
DEFINE_RULES(Pad, {.infer = pad_infer, .vjp = pad_vjp, .eval = pad_eval, .samples = pad_samples})
DEFINE_RULES(Concatenate, {.infer = concatenate_infer,
                           .vjp = concatenate_vjp,
                           .eval = concatenate_eval,
                           .samples = concatenate_samples})
DEFINE_RULES(Reverse, {.infer = reverse_infer,
                       .vjp = reverse_vjp,
                       .eval = reverse_eval,
                       .samples = reverse_samples})

}  // namespace lockstep
