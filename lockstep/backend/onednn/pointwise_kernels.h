// Vector kernels over one block of elements: the instructions of pointwise programs. Chosen for the
// machine's instruction set at run time. Elements are 4 bytes: f32, i32, or an i1 as all ones or
// zeros.
#pragma once

#include <cstddef>
#include <cstdint>

namespace lockstep {

// POINT(name): one instruction each. Operands in the order of the op of that name.
#define LOCKSTEP_POINT_OPS(POINT)                                                                 \
  POINT(Abs)                                                                                      \
  POINT(Negate)                                                                                   \
  POINT(Sign)                                                                                     \
  POINT(Floor) POINT(RoundNearestEven) POINT(Exponential) POINT(ExponentialMinusOne) POINT(Log)   \
      POINT(LogPlusOne) POINT(Logistic) POINT(Tanh) POINT(Erf) POINT(Sqrt) POINT(Rsqrt)           \
          POINT(Sine) POINT(Cosine) POINT(IsFinite) POINT(Add) POINT(Subtract) POINT(Multiply)    \
              POINT(Divide) POINT(Maximum) POINT(Minimum) POINT(Power) POINT(Remainder)           \
                  POINT(Relu) POINT(ReluGradient) POINT(Elu) POINT(EluGradient) POINT(Eq)         \
                      POINT(Ne) POINT(Lt) POINT(Le) POINT(Gt) POINT(Ge) POINT(IntEq) POINT(IntNe) \
                          POINT(IntLt) POINT(IntLe) POINT(IntGt) POINT(IntGe) POINT(IntAdd)       \
                              POINT(IntSubtract) POINT(IntMultiply) POINT(And) POINT(Or)          \
                                  POINT(Not) POINT(Select) POINT(FloatToInt) POINT(IntToFloat)    \
                                      POINT(MaskToFloat) POINT(MaskToInt) POINT(BytesToMask)      \
                                          POINT(MaskToBytes) POINT(DropoutGradient)               \
                                              POINT(DropoutEluGradient) POINT(DropoutReluGradient)

enum class PointOp : uint8_t {
#define POINT(name) k##name,
  LOCKSTEP_POINT_OPS(POINT)
#undef POINT
};

/// `in` may equal `out`. params: Elu (alpha, scale), dropout gradients (scale, 1 - rate, alpha,
/// scale). Dropout gradients read their mask, one u16 a 16 elements, as the last operand; n counts
/// from a multiple of 16.
using PointFn = void (*)(const float* params, const void* const* in, void* out, size_t n);

/// Kernel of an instruction for this machine.
PointFn point_function(PointOp op);

/// Name of the instruction set the kernels were chosen for: "AVX2", "AVX3".
const char* vector_target_name();
/// Floats that a vector of it holds.
int64_t vector_floats();
/// Kernels as for a processor with vectors of four floats and no more, or for this one again: that
/// tests can compare the two. Not while kernels run.
void use_narrow_vectors(bool is_narrow);

/// Dropout of one row of n elements by the numerical contract: y may equal x; mask has ceil(n/16)
/// words. Without x the mask alone is drawn.
struct DropoutRow {
  const float* x;
  float* y;
  uint16_t* mask;
  int64_t n;
  uint32_t key0, key1, row, train_step, site;
  uint32_t threshold;  // round(65536 * rate)
  float scale;
};
void dropout_row(const DropoutRow& row);

}  // namespace lockstep
