// What each shape rule refuses, and in which words. A row: the op, its operands, the message.
#include <gtest/gtest.h>

#include "lockstep/ir/builder.h"

namespace lockstep {
namespace {

struct Refusal {
  const char* name;
  Opcode opcode;
  std::vector<TensorType> operands;
  Attrs attrs;
  const char* message;
};

void PrintTo(const Refusal& refusal, std::ostream* os) {
  *os << refusal.name;
}

TensorType f32(Shape shape) {
  return {DType::kF32, std::move(shape)};
}
TensorType s32(Shape shape) {
  return {DType::kS32, std::move(shape)};
}
TensorType u32(Shape shape) {
  return {DType::kU32, std::move(shape)};
}
TensorType bools(Shape shape) {
  return {DType::kBool, std::move(shape)};
}

std::vector<Refusal> elementwise_refusals() {
  return {
      {"exponential_of_ints",
       Opcode::kExponential,
       {s32({2})},
       NoAttrs{},
       "[exponential] operand must be f32 or f64: i32[2]"},
      {"add_of_two_shapes",
       Opcode::kAdd,
       {f32({2}), f32({3})},
       NoAttrs{},
       "[add] operands must have one type: f32[2] and f32[3]"},
      {"add_of_bools",
       Opcode::kAdd,
       {bools({2}), bools({2})},
       NoAttrs{},
       "[add] operands must be numbers: i1[2]"},
      {"or_of_floats",
       Opcode::kOr,
       {f32({2}), f32({2})},
       NoAttrs{},
       "[or] operands must be i1: f32[2]"},
      {"not_of_floats", Opcode::kNot, {f32({2})}, NoAttrs{}, "[not] operand must be i1: f32[2]"},
      {"compare_of_two_types",
       Opcode::kCompare,
       {f32({2}), s32({2})},
       CompareAttrs{},
       "[compare] operands must have one type: f32[2] and i32[2]"},
      {"select_by_floats",
       Opcode::kSelect,
       {f32({2}), f32({2}), f32({2})},
       NoAttrs{},
       "[select] condition must be i1[2]: f32[2]"},
      {"relu_of_ints",
       Opcode::kRelu,
       {s32({2})},
       NoAttrs{},
       "[relu] operand must be f32 or f64: i32[2]"},
      {"elu_gradient_of_two_shapes",
       Opcode::kEluGradient,
       {f32({2}), f32({3})},
       EluAttrs{},
       "[elu_gradient] operands must have one type: f32[2] and f32[3]"},
      {"one_operand_too_few",
       Opcode::kAdd,
       {f32({2})},
       NoAttrs{},
       "[add] 2 operands expected: 1 came (layer \"\")"},
  };
}

std::vector<Refusal> movement_refusals() {
  return {
      {"reshape_to_another_size",
       Opcode::kReshape,
       {f32({2, 3})},
       ReshapeAttrs{{5}},
       "[reshape] sizes must match: f32[2,3] to [5]"},
      {"reshape_to_unknown",
       Opcode::kReshape,
       {f32({2, 3})},
       ReshapeAttrs{{-2, -3}},
       "[reshape] extents must not be negative: f32[-2,-3]"},
      {"transpose_naming_an_axis_twice",
       Opcode::kTranspose,
       {f32({2, 3})},
       TransposeAttrs{{0, 0}},
       "[transpose] permutation must name each axis of f32[2,3] once"},
      {"broadcast_of_another_extent",
       Opcode::kBroadcastInDim,
       {f32({2})},
       BroadcastAttrs{{3, 4}, {1}},
       "[broadcast_in_dim] each axis of the operand must map, ascending, to an equal extent: "
       "f32[2] to [3,4]"},
      {"slice_beyond_the_end",
       Opcode::kSlice,
       {f32({4})},
       SliceAttrs{{1}, {5}, {1}},
       "[slice] 0 <= start <= limit <= extent and stride >= 1 on every axis of f32[4]"},
      {"pad_by_a_vector",
       Opcode::kPad,
       {f32({4}), f32({1})},
       PadAttrs{{0}, {0}, {0}},
       "[pad] padding value must be a f32 scalar: f32[1]"},
      {"pad_below_nothing",
       Opcode::kPad,
       {f32({4}), f32({})},
       PadAttrs{{-3}, {-3}, {0}},
       "[pad] the result must not have a negative extent: f32[4] padded by -3 and -3"},
      {"concatenate_of_nothing",
       Opcode::kConcatenate,
       {},
       AxisAttrs{0},
       "[concatenate] at least one operand expected: none came"},
      {"concatenate_of_two_widths",
       Opcode::kConcatenate,
       {f32({2, 3}), f32({2, 4})},
       AxisAttrs{0},
       "[concatenate] operands must agree but for axis 0: f32[2,3] and f32[2,4]"},
      {"reverse_of_no_axis",
       Opcode::kReverse,
       {f32({2})},
       AxesAttrs{{1}},
       "[reverse] axis must be below the rank of f32[2]: 1"},
  };
}

std::vector<Refusal> other_refusals() {
  const HostTensor pair = HostTensor::of<float>({2}, {1, 2});
  return {
      {"parameter_of_unknown_rows",
       Opcode::kParameter,
       {},
       ParameterAttrs{0, "x", ParameterRole::kData, f32({-1, 3})},
       "[parameter] extents must not be negative: f32[-1,3]"},
      {"constant_of_another_shape",
       Opcode::kConstant,
       {},
       ConstantAttrs{f32({3}), pair},
       "[constant] value must be of type f32[3] or one element: f32[2]"},
      {"iota_of_a_scalar",
       Opcode::kIota,
       {},
       IotaAttrs{f32({}), 0},
       "[iota] axis must be below the rank of f32[]: 0"},
      {"reduce_sum_axes_twice",
       Opcode::kReduceSum,
       {f32({2, 3})},
       AxesAttrs{{1, 1}},
       "[reduce_sum] axes must ascend: 1 before 1"},
      {"reduce_max_of_ints",
       Opcode::kReduceMax,
       {s32({2})},
       AxesAttrs{{0}},
       "[reduce_max] operand must be f32 or f64: i32[2]"},
      {"argmax_of_nothing",
       Opcode::kArgMax,
       {f32({2, 0})},
       AxisAttrs{1},
       "[argmax] axis 1 of f32[2,0] must not be empty"},
      {"dot_of_two_depths",
       Opcode::kDotGeneral,
       {f32({32, 784}), f32({512, 10})},
       DotAttrs{{}, {}, {1}, {0}},
       "[dot_general] contracting sizes must match: lhs f32[32,784] axis 1 = 784, rhs f32[512,10] "
       "axis 0 = 512"},
      {"dot_of_two_batches",
       Opcode::kDotGeneral,
       {f32({2, 3}), f32({4, 3})},
       DotAttrs{{0}, {0}, {1}, {1}},
       "[dot_general] batch sizes must match: lhs f32[2,3] axis 0 = 2, rhs f32[4,3] axis 0 = 4"},
      {"dot_naming_an_axis_twice",
       Opcode::kDotGeneral,
       {f32({3, 3}), f32({3, 3})},
       DotAttrs{{1}, {0}, {1}, {1}},
       "[dot_general] an axis of f32[3,3] may be named once: 1"},
      {"dot_of_unpaired_axes",
       Opcode::kDotGeneral,
       {f32({3}), f32({3})},
       DotAttrs{{}, {}, {0}, {}},
       "[dot_general] contracting axes must come in pairs: 1 and 0"},
      {"dropout_of_everything",
       Opcode::kDropout,
       {f32({2, 3}), u32({2}), u32({}), u32({})},
       DropoutAttrs{1.0, 0},
       "[dropout] rate must be in [0, 1): 1"},
      {"dropout_by_a_short_key",
       Opcode::kDropout,
       {f32({2, 3}), u32({1}), u32({}), u32({})},
       DropoutAttrs{0.5, 0},
       "[dropout] key, first row and train step must be ui32[2], ui32[], ui32[]: ui32[1], ui32[], "
       "ui32[]"},
      {"dropout_gradient_of_another_mask",
       Opcode::kDropoutGradient,
       {f32({2, 17}), {DType::kU16, {2, 1}}},
       DropoutAttrs{0.5, 0},
       "[dropout_gradient] mask must be ui16[rows, ceil(n/16)] of f32[2,17]: ui16[2,1]"},
  };
}

std::vector<Refusal> all_refusals() {
  std::vector<Refusal> all = elementwise_refusals();
  for (auto* more : {movement_refusals, other_refusals})
    for (Refusal& refusal : more()) all.push_back(std::move(refusal));
  return all;
}

using Infer = testing::TestWithParam<Refusal>;

TEST_P(Infer, Refuses) {
  const Refusal& refusal = GetParam();
  Graph graph;
  Builder builder(graph);
  std::vector<Value> operands;
  for (const TensorType& type : refusal.operands) operands.push_back(builder.parameter(type, "x"));
  try {
    builder.append(refusal.opcode, operands, refusal.attrs);
    FAIL() << "nothing was thrown";
  } catch (const Error& error) {
    EXPECT_STREQ(error.what(), refusal.message);
    EXPECT_EQ(error.code(), ErrorCode::kInvalidArgument);
  }
}

INSTANTIATE_TEST_SUITE_P(Rules, Infer, testing::ValuesIn(all_refusals()),
                         [](const auto& info) { return std::string(info.param.name); });

}  // namespace
}  // namespace lockstep
