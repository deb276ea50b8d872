// Which column feeds what: by name, or the only one to the only one; everything else is refused
// with both sides named.
#include "lockstep/train/data_binding.h"

#include "tests/train/train_test_util.h"

namespace lockstep {
namespace {

using Role = Column::Role;
using Ints = std::vector<int>;

HostTensor rows(Shape row, DType dtype = DType::kF32) {
  return {dtype, row.with_rows(2)};
}

NetworkPtr two_by_two() {
  const Tensor a = Input({3}, {.name = "a"}), b = Input({2, 2}, {.name = "b"});
  const Tensor flat = Flatten(FlattenConfig{})(b);
  return Network::functional(
      {a, b}, {Dense({.units = 1, .name = "p"})(a), Dense({.units = 2, .name = "q"})(flat)});
}

NetworkPtr one_by_one(Shape input = {4}, DType dtype = DType::kF32) {
  const Tensor x = Input(input, {.name = "in", .dtype = dtype});
  const Tensor flat = input.rank() > 1 ? Flatten(FlattenConfig{})(x) : x;
  return Network::functional({x}, {Dense({.units = 3, .name = "out"})(flat)});
}

void expect_refused(const Network& network, std::vector<ArrayDataset::Array> arrays,
                    std::initializer_list<const char*> parts) {
  const DatasetPtr data = columns(std::move(arrays));
  for (const char* part : parts)
    expect_error(ErrorCode::kInvalidArgument, part, [&] { bind_data(*data, network); });
}

TEST(BindData, ByNameInAnyOrder) {
  const DatasetPtr data = columns(
      {column(Role::kTarget, "q", rows({2})), column(Role::kInput, "b", rows({2, 2})),
       column(Role::kSampleWeight, "q", rows({})),
       column(Role::kTarget, "p", rows({1}, DType::kS32)), column(Role::kInput, "a", rows({3}))});
  const DataBinding binding = bind_data(*data, *two_by_two());
  EXPECT_EQ(binding.input_columns, (Ints{4, 1}));
  EXPECT_EQ(binding.target_columns, (Ints{3, 0}));
  EXPECT_EQ(binding.weight_columns, (Ints{-1, 2}));
  EXPECT_EQ(binding.inputs[1], (TensorType{DType::kF32, {2, 2}}));
  EXPECT_EQ(binding.targets[0], (TensorType{DType::kS32, {1}})) << "as the data has it";
  EXPECT_FALSE(binding.sample_weights[0]);
  EXPECT_EQ(binding.sample_weights[1], (TensorType{DType::kF32, {}}));
}

TEST(BindData, TheOnlyOneToTheOnlyOne) {
  const DatasetPtr unnamed = dataset(rows({4}), rows({3}), rows({}));
  const DataBinding binding = bind_data(*unnamed, *one_by_one());
  EXPECT_EQ(binding.input_columns, Ints{0});
  EXPECT_EQ(binding.target_columns, Ints{1});
  EXPECT_EQ(binding.weight_columns, Ints{2});
  const DatasetPtr misnamed = columns(
      {column(Role::kInput, "image", rows({4})), column(Role::kTarget, "label", rows({3}))});
  EXPECT_EQ(bind_data(*misnamed, *one_by_one()).input_columns, Ints{0});
}

TEST(BindData, TargetsMayBeMissing) {
  const DataBinding binding = bind_data(*dataset(rows({4})), *one_by_one());
  EXPECT_FALSE(binding.targets[0]);
  EXPECT_EQ(binding.target_columns, Ints{-1});
}

TEST(BindData, AMissingInputIsNamed) {
  expect_refused(*two_by_two(), {column(Role::kInput, "a", rows({3}))}, {"\"b\"", "x/b"});
  expect_refused(*one_by_one(), {column(Role::kTarget, "", rows({3}))}, {"\"in\"", "x/in"});
}

TEST(BindData, AColumnThatBelongsToNothingIsNamedWithWhatThereIs) {
  expect_refused(*two_by_two(),
                 {column(Role::kInput, "a", rows({3})), column(Role::kInput, "b", rows({2, 2})),
                  column(Role::kInput, "c", rows({1}))},
                 {"x/c", "a, b"});
  expect_refused(*two_by_two(),
                 {column(Role::kInput, "a", rows({3})), column(Role::kInput, "b", rows({2, 2})),
                  column(Role::kTarget, "r", rows({1}))},
                 {"y/r", "p, q"});
  expect_refused(*two_by_two(),
                 {column(Role::kInput, "a", rows({3})), column(Role::kInput, "b", rows({2, 2})),
                  column(Role::kSampleWeight, "r", rows({}))},
                 {"sample_weight/r", "p, q"});
}

TEST(BindData, AnUnnamedColumnOfAModelOfSeveralIsRefused) {
  expect_refused(*two_by_two(), {column(Role::kInput, "", rows({3}))}, {"x", "a, b"});
}

TEST(BindData, TwoColumnsForOneInputAreRefused) {
  expect_refused(*one_by_one(),
                 {column(Role::kInput, "in", rows({4})), column(Role::kInput, "other", rows({4}))},
                 {"x/other", "in"});
  expect_refused(*one_by_one(),
                 {column(Role::kInput, "in", rows({4})), column(Role::kInput, "in", rows({4}))},
                 {"x/in"});
}

TEST(BindData, AnotherShapeNamesBoth) {
  expect_refused(*one_by_one(), {column(Role::kInput, "", rows({5}))}, {"x/in", "[4]", "[5]"});
  expect_refused(*one_by_one(), {column(Role::kInput, "", rows({2, 2}))}, {"x/in", "[4]", "[2,2]"});
  expect_refused(*one_by_one({2, 2}), {column(Role::kInput, "", rows({4}))}, {"[2,2]", "[4]"});
  expect_refused(*one_by_one(), {column(Role::kInput, "", rows({}))}, {"[4]", "[]"});
}

TEST(BindData, ALastAxisOf1MoreOrLessIsAllowed) {
  const TensorType want{DType::kF32, {4}};
  EXPECT_EQ(bind_data(*dataset(rows({4, 1})), *one_by_one()).inputs[0], want);
  EXPECT_EQ(bind_data(*dataset(rows({4})), *one_by_one({4, 1})).inputs[0],
            (TensorType{DType::kF32, {4, 1}}));
  EXPECT_EQ(bind_data(*dataset(rows({})), *one_by_one({1})).inputs[0],
            (TensorType{DType::kF32, {1}}));
  EXPECT_EQ(bind_data(*dataset(rows({2, 2, 1})), *one_by_one({2, 2})).inputs[0],
            (TensorType{DType::kF32, {2, 2}}));
}

TEST(BindData, OtherAxesOf1AreNot) {
  expect_refused(*one_by_one(), {column(Role::kInput, "", rows({1, 4}))}, {"[4]", "[1,4]"});
  // As Keras's Functional._adjust_input_rank: one axis, not several.
  expect_refused(*one_by_one(), {column(Role::kInput, "", rows({4, 1, 1}))}, {"[4]", "[4,1,1]"});
  expect_refused(*one_by_one({4, 1, 1}), {column(Role::kInput, "", rows({4}))}, {"[4,1,1]", "[4]"});
}

TEST(BindData, InputsAreDeliveredInTheModelsType) {
  const DatasetPtr bytes = dataset(rows({4}, DType::kU8));
  EXPECT_EQ(bind_data(*bytes, *one_by_one()).inputs[0], (TensorType{DType::kF32, {4}}));
  EXPECT_EQ(bind_data(*bytes, *one_by_one({4}, DType::kS32)).inputs[0],
            (TensorType{DType::kS32, {4}}));
}

TEST(WantedColumns, AreTheLayoutsInItsOrder) {
  const DatasetPtr data = columns({column(Role::kTarget, "q", rows({2}, DType::kU8)),
                                   column(Role::kInput, "b", rows({2, 2})),
                                   column(Role::kInput, "a", rows({3}, DType::kU8))});
  StepLayout layout;
  layout.columns = {{BatchColumn::Role::kInput, 0, "a", {DType::kF32, {3}}},
                    {BatchColumn::Role::kTarget, 1, "q", {DType::kS32, {2}}}};
  const auto wanted = wanted_columns(bind_data(*data, *two_by_two()), layout);
  ASSERT_EQ(wanted.size(), 2u);
  EXPECT_EQ(wanted[0].column, 2u);
  EXPECT_EQ(wanted[0].row, (TensorType{DType::kF32, {3}}));
  EXPECT_EQ(wanted[1].column, 0u);
  EXPECT_EQ(wanted[1].row, (TensorType{DType::kS32, {2}}));
}

}  // namespace
}  // namespace lockstep
