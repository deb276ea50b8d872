// dot_general: batched contraction; result axes are batch, lhs free, rhs free.
#include "lockstep/ir/rules/rules.h"

namespace lockstep {

using namespace rules;

namespace {

bool contains(const Dims& axes, int axis) {
  return std::find(axes.begin(), axes.end(), axis) != axes.end();
}

Dims free_axes(const Shape& shape, const Dims& batch, const Dims& contracting) {
  Dims free;
  for (int axis = 0; axis < shape.rank(); ++axis)
    if (!contains(batch, axis) && !contains(contracting, axis)) free.push_back(axis);
  return free;
}

void check_pairs(Types types, const Dims& lhs, const Dims& rhs, const char* what) {
  if (lhs.size() != rhs.size())
    invalid_argument("dot_general", "{} axes must come in pairs: {} and {}", what, lhs.size(),
                     rhs.size());
  for (size_t i = 0; i < lhs.size(); ++i) {
    require_axis("dot_general", types[0], lhs[i]);
    require_axis("dot_general", types[1], rhs[i]);
    const int64_t a = types[0].shape[static_cast<int>(lhs[i])],
                  b = types[1].shape[static_cast<int>(rhs[i])];
    if (a != b)
      invalid_argument("dot_general",
                       "{} sizes must match: lhs {} axis {} = {}, rhs {} axis {} = {}", what,
                       types[0].str(), lhs[i], a, types[1].str(), rhs[i], b);
  }
}

/// An axis is batch, contracting or free, never two of them.
void check_distinct(const TensorType& type, const Dims& batch, const Dims& contracting) {
  Dims axes = batch;
  axes.insert(axes.end(), contracting.begin(), contracting.end());
  std::sort(axes.begin(), axes.end());
  const auto twice = std::adjacent_find(axes.begin(), axes.end());
  if (twice != axes.end())
    invalid_argument("dot_general", "an axis of {} may be named once: {}", type.str(), *twice);
}

std::vector<TensorType> dot_infer(Types types, const Attrs& attrs) {
  const auto& a = std::get<DotAttrs>(attrs);
  require_float("dot_general", types[0]);
  if (types[0].dtype != types[1].dtype)
    invalid_argument("dot_general", "operands must have one dtype: {} and {}", types[0].str(),
                     types[1].str());
  check_pairs(types, a.lhs_batch, a.rhs_batch, "batch");
  check_pairs(types, a.lhs_contracting, a.rhs_contracting, "contracting");
  check_distinct(types[0], a.lhs_batch, a.lhs_contracting);
  check_distinct(types[1], a.rhs_batch, a.rhs_contracting);
  Shape shape;
  for (int64_t axis : a.lhs_batch) shape.dims().push_back(types[0].shape[static_cast<int>(axis)]);
  for (int64_t axis : free_axes(types[0].shape, a.lhs_batch, a.lhs_contracting))
    shape.dims().push_back(types[0].shape[static_cast<int>(axis)]);
  for (int64_t axis : free_axes(types[1].shape, a.rhs_batch, a.rhs_contracting))
    shape.dims().push_back(types[1].shape[static_cast<int>(axis)]);
  return {{types[0].dtype, shape}};
}

Shape extents(const Shape& shape, const Dims& axes) {
  Shape result;
  for (int64_t axis : axes) result.dims().push_back(shape[static_cast<int>(axis)]);
  return result;
}

int64_t offset(const Dims& index, const Dims& axes, const Dims& strides) {
  int64_t linear = 0;
  for (size_t i = 0; i < axes.size(); ++i)
    linear += index[i] * strides[static_cast<size_t>(axes[i])];
  return linear;
}

void dot_eval(Inputs in, const Attrs& attrs, Outputs out) {
  const auto& a = std::get<DotAttrs>(attrs);
  const Shape &lhs = in[0]->shape(), &rhs = in[1]->shape();
  const Dims lhs_strides = lhs.strides(), rhs_strides = rhs.strides();
  const Dims lhs_free = free_axes(lhs, a.lhs_batch, a.lhs_contracting);
  const Dims rhs_free = free_axes(rhs, a.rhs_batch, a.rhs_contracting);
  dispatch_float(in[0]->dtype(), [&]<class T>() {
    const auto x = in[0]->data<T>(), y = in[1]->data<T>();
    size_t to = 0;
    for_each_index(extents(lhs, a.lhs_batch), [&](const Dims& batch) {
      for_each_index(extents(lhs, lhs_free), [&](const Dims& row) {
        const int64_t from_x =
            offset(batch, a.lhs_batch, lhs_strides) + offset(row, lhs_free, lhs_strides);
        for_each_index(extents(rhs, rhs_free), [&](const Dims& column) {
          const int64_t from_y =
              offset(batch, a.rhs_batch, rhs_strides) + offset(column, rhs_free, rhs_strides);
          T sum = 0;
          for_each_index(extents(lhs, a.lhs_contracting), [&](const Dims& k) {
            sum += x[static_cast<size_t>(from_x + offset(k, a.lhs_contracting, lhs_strides))] *
                   y[static_cast<size_t>(from_y + offset(k, a.rhs_contracting, rhs_strides))];
          });
          out[0].data<T>()[to++] = sum;
        });
      });
    });
  });
}

Dims range(size_t first, size_t count) {
  Dims axes;
  for (size_t i = 0; i < count; ++i) axes.push_back(static_cast<int64_t>(first + i));
  return axes;
}

/// `value` transposed so that its axis i becomes axis axes[i] of the result.
Value place_axes(Builder& b, Value value, const Dims& axes) {
  Dims permutation(axes.size());
  bool in_order = true;
  for (size_t i = 0; i < axes.size(); ++i) {
    permutation[static_cast<size_t>(axes[i])] = static_cast<int64_t>(i);
    in_order = in_order && axes[i] == static_cast<int64_t>(i);
  }
  return in_order ? value : b.transpose(value, permutation);
}

Dims joined(std::initializer_list<Dims> lists) {
  Dims all;
  for (const Dims& list : lists) all.insert(all.end(), list.begin(), list.end());
  return all;
}

/// `values` in the order that sorts `keys`: free axes come out of dot_general ascending, so the
/// axes that one operand contracted come out in that operand's order, not in that of the pairs.
Dims in_order_of(const Dims& keys, const Dims& values) {
  std::vector<std::pair<int64_t, int64_t>> pairs;
  for (size_t i = 0; i < keys.size(); ++i) pairs.emplace_back(keys[i], values[i]);
  std::sort(pairs.begin(), pairs.end());
  Dims sorted;
  for (const auto& [key, value] : pairs) sorted.push_back(value);
  return sorted;
}

std::vector<Value> dot_vjp(const VjpArgs& args) {
  const auto& a = std::get<DotAttrs>(args.attrs);
  Builder& b = args.builder;
  const Value x = args.operands[0], y = args.operands[1], dy = args.cotangents[0];
  const Dims x_free = free_axes(x.shape(), a.lhs_batch, a.lhs_contracting);
  const Dims y_free = free_axes(y.shape(), a.rhs_batch, a.rhs_contracting);
  const size_t batch = a.lhs_batch.size();
  const Dims dy_batch = range(0, batch), dy_x = range(batch, x_free.size());
  const Dims dy_y = range(batch + x_free.size(), y_free.size());
  // dx: batch, x free, then y's contracting axes in y's order.
  const Value dx = b.dot_general(dy, y, {dy_batch, a.rhs_batch, dy_y, y_free});
  const Dims dx_axes =
      joined({a.lhs_batch, x_free, in_order_of(a.rhs_contracting, a.lhs_contracting)});
  // dyy: batch, x's contracting axes in x's order, then y free.
  const Value dyy = b.dot_general(x, dy, {a.lhs_batch, dy_batch, x_free, dy_x});
  const Dims dyy_axes =
      joined({a.rhs_batch, in_order_of(a.lhs_contracting, a.rhs_contracting), y_free});
  return {place_axes(b, dx, dx_axes), place_axes(b, dyy, dyy_axes)};
}

std::vector<OpSample> dot_samples() {
  return {
      {"matrix",
       {uniform({3, 5}, -1, 1, 1), uniform({5, 7}, -1, 1, 2)},
       DotAttrs{{}, {}, {1}, {0}},
       1e-5},
      {"transposed",
       {uniform({5, 3}, -1, 1, 1), uniform({7, 5}, -1, 1, 2)},
       DotAttrs{{}, {}, {0}, {1}},
       1e-5},
      {"rank3",
       {uniform({2, 3, 5}, -1, 1, 1), uniform({5, 4}, -1, 1, 2)},
       DotAttrs{{}, {}, {2}, {0}},
       1e-5},
      {"batched",
       {uniform({2, 3, 5}, -1, 1, 1), uniform({2, 5, 4}, -1, 1, 2)},
       DotAttrs{{0}, {0}, {2}, {1}},
       1e-5},
      {"outer", {uniform({3}, -1, 1, 1), uniform({4}, -1, 1, 2)}, DotAttrs{{}, {}, {}, {}}, 1e-5},
      {"inner",
       {uniform({3, 4}, -1, 1, 1), uniform({4, 3}, -1, 1, 2)},
       DotAttrs{{}, {}, {0, 1}, {1, 0}},
       1e-5},
      {"vector",
       {uniform({5}, -1, 1, 1), uniform({5, 7}, -1, 1, 2)},
       DotAttrs{{}, {}, {0}, {0}},
       1e-5},
      {"heads",
       {uniform({2, 3, 4, 5}, -1, 1, 1), uniform({2, 6, 4, 5}, -1, 1, 2)},
       DotAttrs{{0, 2}, {0, 2}, {3}, {3}},
       1e-5},
      {"batch_last",
       {uniform({3, 5, 2}, -1, 1, 1), uniform({5, 2, 4}, -1, 1, 2)},
       DotAttrs{{2}, {1}, {1}, {0}},
       1e-5},
      // Skinny and deep, as a classifier's last layer and its two gradients; the small samples have
      // checked the gradient.
      {"skinny",
       {uniform({9, 515}, -1, 1, 1), uniform({515, 10}, -1, 1, 2)},
       DotAttrs{{}, {}, {1}, {0}},
       2e-5,
       false},
      {"skinny_dx",
       {uniform({9, 10}, -1, 1, 1), uniform({515, 10}, -1, 1, 2)},
       DotAttrs{{}, {}, {1}, {1}},
       2e-5,
       false},
      {"skinny_dw",
       {uniform({9, 515}, -1, 1, 1), uniform({9, 10}, -1, 1, 2)},
       DotAttrs{{}, {}, {0}, {0}},
       2e-5,
       false},
      {"wide",
       {uniform({33, 65}, -1, 1, 1), uniform({65, 70}, -1, 1, 2)},
       DotAttrs{{}, {}, {1}, {0}},
       2e-5,
       false}};
}

}  // namespace

DEFINE_RULES(DotGeneral,
             {.infer = dot_infer, .vjp = dot_vjp, .eval = dot_eval, .samples = dot_samples})

}  // namespace lockstep
