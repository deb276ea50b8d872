// Element types, shapes and host tensors.
#include <gtest/gtest.h>

#include <cmath>

#include "lockstep/tensor/host_tensor.h"

namespace lockstep {
namespace {

TEST(DType, NamesComeFromTheTable) {
  EXPECT_EQ(dtype_name(DType::kF32), "f32");
  EXPECT_EQ(dtype_name(DType::kU16), "ui16");
  EXPECT_EQ(dtype_name(DType::kBool), "i1");
  EXPECT_EQ(byte_size(DType::kF64), 8u);
  EXPECT_EQ(byte_size(DType::kBool), 1u);
}

TEST(DType, EverySpellingReadsBack) {
  for (DType dtype : {DType::kF32, DType::kF64, DType::kS32, DType::kS64, DType::kU8, DType::kU16,
                      DType::kU32, DType::kBool}) {
    EXPECT_EQ(dtype_from_numpy(numpy_name(dtype)), dtype);
    EXPECT_EQ(dtype_from_keras(keras_name(dtype)), dtype);
    dispatch(dtype, [&]<class T>() {
      EXPECT_EQ(dtype_of<T>(), dtype);
      EXPECT_EQ(sizeof(T), byte_size(dtype));
    });
  }
  EXPECT_EQ(dtype_from_keras("complex64"), std::nullopt);
  EXPECT_EQ(dtype_from_numpy(">f4"), std::nullopt);
}

TEST(DType, OnlyFloatsAreFloats) {
  EXPECT_TRUE(is_float(DType::kF32) && is_float(DType::kF64));
  EXPECT_FALSE(is_float(DType::kS32) || is_float(DType::kBool));
}

TEST(Shape, SizeAndStridesAreRowMajor) {
  const Shape shape{2, 3, 4};
  EXPECT_EQ(shape.size(), 24);
  EXPECT_EQ(shape.strides(), (Dims{12, 4, 1}));
  EXPECT_EQ(Shape{}.size(), 1);
  EXPECT_EQ(Shape{}.strides(), Dims{});
  EXPECT_EQ((Shape{3, 0, 2}).size(), 0);
}

TEST(Shape, RowsAreAxisZero) {
  EXPECT_EQ((Shape{28, 28}).with_rows(32), (Shape{32, 28, 28}));
  EXPECT_EQ((Shape{32, 10}).without_rows(), Shape{10});
  EXPECT_EQ(Shape{32}.without_rows(), Shape{});
}

TEST(Shape, PrintsAsItsTypeDoes) {
  EXPECT_EQ((Shape{32, 784}).str(), "[32,784]");
  EXPECT_EQ(Shape{}.str(), "[]");
  EXPECT_EQ((TensorType{DType::kU8, {2, 3}}).str(), "ui8[2,3]");
  EXPECT_EQ((TensorType{DType::kU16, {2, 3}}).size_bytes(), 12u);
}

TEST(HostTensor, StartsAsZerosAlignedTo64Bytes) {
  const HostTensor tensor(DType::kF32, {3, 5});
  EXPECT_EQ(reinterpret_cast<uintptr_t>(tensor.bytes()) % 64, 0u);
  for (float value : tensor.data<float>()) EXPECT_EQ(value, 0.0f);
}

TEST(HostTensor, ACopyOwnsItsElements) {
  const HostTensor original = HostTensor::of<float>({2}, {1, 2});
  HostTensor copy = original;
  copy.data<float>()[0] = 9;
  EXPECT_EQ(original.data<float>()[0], 1.0f);
  copy = original;
  EXPECT_TRUE(copy.same_bits(original));
}

TEST(HostTensor, ValuesMustFillTheShape) {
  EXPECT_THROW(HostTensor::of<float>({2, 2}, {1, 2, 3}), Error);
}

TEST(HostTensor, AnotherTypeOfElementIsOurBug) {
  const HostTensor tensor(DType::kF32, {2});
  try {
    tensor.data<double>();
    FAIL();
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), ErrorCode::kInternal);
  }
}

TEST(HostTensor, ReshapedKeepsTheElements) {
  const HostTensor tensor = HostTensor::of<int32_t>({2, 3}, {1, 2, 3, 4, 5, 6});
  EXPECT_TRUE(tensor.reshaped({6}).same_bits(HostTensor::of<int32_t>({6}, {1, 2, 3, 4, 5, 6})));
  try {
    tensor.reshaped({5});
    FAIL();
  } catch (const Error& error) {
    EXPECT_STREQ(error.what(), "[reshape] sizes must match: i32[2,3] to [5]");
  }
}

TEST(HostTensor, ConvertsAsCppDoes) {
  const HostTensor floats = HostTensor::of<float>({4}, {0.0f, 1.9f, -1.9f, 3.0f});
  EXPECT_TRUE(floats.as(DType::kS32).same_bits(HostTensor::of<int32_t>({4}, {0, 1, -1, 3})));
  EXPECT_TRUE(
      floats.as(DType::kBool).same_bits(HostTensor::of<bool>({4}, {false, true, true, true})));
  EXPECT_TRUE(floats.as(DType::kF64).as(DType::kF32).same_bits(floats));
}

TEST(HostTensor, SameBitsTellsZerosAndTypesApart) {
  const HostTensor zero = HostTensor::scalar(0.0f);
  EXPECT_FALSE(zero.same_bits(HostTensor::scalar(-0.0f)));
  EXPECT_FALSE(zero.same_bits(HostTensor::scalar<int32_t>(0)));
  EXPECT_FALSE(zero.same_bits(zero.reshaped({1})));
  const HostTensor nan = HostTensor::scalar(std::nanf(""));
  EXPECT_TRUE(nan.same_bits(nan));
}

TEST(HostTensor, MayBeEmpty) {
  const HostTensor empty(DType::kF32, {3, 0});
  EXPECT_EQ(empty.size_bytes(), 0u);
  EXPECT_TRUE(HostTensor(empty).same_bits(empty));
}

}  // namespace
}  // namespace lockstep
