#include "lockstep/backend/onednn/pointwise_kernels.h"

#include <cmath>
#include <cstring>

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "lockstep/backend/onednn/pointwise_kernels.cpp"
#include <hwy/foreach_target.h>
#include <hwy/highway.h>
// After highway.h: the functions below are compiled once an instruction set.
#include <hwy/cache_control.h>
#include <hwy/contrib/math/math-inl.h>

HWY_BEFORE_NAMESPACE();
namespace lockstep {
namespace HWY_NAMESPACE {

namespace hn = hwy::HWY_NAMESPACE;
using DF = hn::ScalableTag<float>;
using DI = hn::ScalableTag<int32_t>;
using VF = hn::Vec<DF>;
using VI = hn::Vec<DI>;
constexpr size_t kMaxLanes = 64;

// Tails run the same vector code on a zero-padded copy.
template <class From, class To, class F>
HWY_INLINE void map1(From from, To to, const void* a, void* out, size_t n, F f) {
  using TF = hn::TFromD<From>;
  using TT = hn::TFromD<To>;
  const auto* x = static_cast<const TF*>(a);
  auto* y = static_cast<TT*>(out);
  const size_t lanes = hn::Lanes(from);
  size_t i = 0;
  for (; i + lanes <= n; i += lanes) hn::StoreU(f(hn::LoadU(from, x + i)), to, y + i);
  if (i == n) return;
  alignas(256) TF tx[kMaxLanes] = {};
  alignas(256) TT ty[kMaxLanes];
  std::memcpy(tx, x + i, (n - i) * 4);
  hn::StoreU(f(hn::LoadU(from, tx)), to, ty);
  std::memcpy(y + i, ty, (n - i) * 4);
}

template <class From, class To, class F>
HWY_INLINE void map2(From from, To to, const void* a, const void* b, void* out, size_t n, F f) {
  using TF = hn::TFromD<From>;
  using TT = hn::TFromD<To>;
  const auto *x = static_cast<const TF*>(a), *z = static_cast<const TF*>(b);
  auto* y = static_cast<TT*>(out);
  const size_t lanes = hn::Lanes(from);
  size_t i = 0;
  for (; i + lanes <= n; i += lanes)
    hn::StoreU(f(hn::LoadU(from, x + i), hn::LoadU(from, z + i)), to, y + i);
  if (i == n) return;
  alignas(256) TF tx[kMaxLanes] = {}, tz[kMaxLanes] = {};
  alignas(256) TT ty[kMaxLanes];
  std::memcpy(tx, x + i, (n - i) * 4);
  std::memcpy(tz, z + i, (n - i) * 4);
  hn::StoreU(f(hn::LoadU(from, tx), hn::LoadU(from, tz)), to, ty);
  std::memcpy(y + i, ty, (n - i) * 4);
}

HWY_INLINE VF zero() {
  return hn::Zero(DF());
}
HWY_INLINE VF set(float value) {
  return hn::Set(DF(), value);
}
template <class M>
HWY_INLINE VI as_ints(M mask) {
  return hn::VecFromMask(DI(), hn::RebindMask(DI(), mask));
}

/// x where x is NaN, else y.
HWY_INLINE VF keep_nan(VF x, VF y) {
  return hn::IfThenElse(hn::IsNaN(x), x, y);
}

HWY_NOINLINE VF exp_of(VF x) {
  // contrib's Exp is defined up to 104 and answers 0 for NaN.
  const VF y = hn::Exp(DF(), hn::Min(x, set(104.0f)));
  return keep_nan(x, hn::IfThenElse(hn::Gt(x, set(88.72284f)), set(HUGE_VALF), y));
}
HWY_INLINE VF expm1_of(VF x) {
  return keep_nan(x, hn::Expm1(DF(), hn::Min(hn::Max(x, set(-100.0f)), set(88.7f))));
}
HWY_INLINE VF log_of(VF x) {
  const VF y = hn::Log(DF(), x);
  const VF edges = hn::IfThenElse(hn::Eq(x, zero()), set(-HUGE_VALF),
                                  hn::IfThenElse(hn::Eq(x, set(HUGE_VALF)), x, y));
  return keep_nan(x, hn::IfThenElse(hn::Lt(x, zero()), set(NAN), edges));
}
HWY_INLINE VF log1p_of(VF x) {
  const VF y = hn::Log1p(DF(), x);
  return keep_nan(x, hn::IfThenElse(hn::Eq(x, set(HUGE_VALF)), x, y));
}
HWY_INLINE VF tanh_of(VF x) {
  return keep_nan(x, hn::Tanh(DF(), hn::Min(hn::Max(x, set(-20.0f)), set(20.0f))));
}
/// x P(x^2) / Q(x^2) on [-4, 4], within 3e-7 of erf; 1 beyond in f32.
HWY_INLINE VF erf_of(VF value) {
  const VF x = hn::Min(hn::Max(value, set(-4.0f)), set(4.0f)), s = hn::Mul(x, x);
  VF p = set(-2.72614225801306e-10f);
  for (float c : {2.77068142495902e-08f, -2.10102402082508e-06f, -5.69250639462346e-05f,
                  -7.34990630326855e-04f, -2.95459980854025e-03f, -1.60960333262415e-02f})
    p = hn::MulAdd(p, s, set(c));
  VF q = set(-1.45660718464996e-05f);
  for (float c : {-2.13374055278905e-04f, -1.68282697438203e-03f, -7.37332916720468e-03f,
                  -1.42647390514189e-02f})
    q = hn::MulAdd(q, s, set(c));
  return keep_nan(value, hn::Div(hn::Mul(x, p), q));
}
HWY_INLINE VF maximum_of(VF a, VF b) {
  return keep_nan(a, keep_nan(b, hn::Max(a, b)));
}
HWY_INLINE VF minimum_of(VF a, VF b) {
  return keep_nan(a, keep_nan(b, hn::Min(a, b)));
}
/// e^x - 1 for x <= 0, in half the time of expm1_of: x = n ln 2 + r, 2^n (e^r - 1) + (2^n - 1).
HWY_INLINE VF negative_expm1_of(VF value) {
  const DF d;
  const VF x = hn::Max(value, set(-80.0f));  // from about -17 on it is -1
  const VF n = hn::Round(hn::Mul(x, set(1.44269504f)));
  // ln 2 in two parts, of which the first times n is exact.
  const VF r = hn::NegMulAdd(n, set(1.42860677e-6f), hn::NegMulAdd(n, set(0.693145752f), x));
  VF p = set(1.39337336e-3f);  // (e^r - 1 - r) / r^2 on [-ln 2 / 2, ln 2 / 2]: e^x - 1 to one ulp
  for (float c : {8.36323574e-3f, 4.16664630e-2f, 1.66665763e-1f, 0.5f})
    p = hn::MulAdd(p, r, set(c));
  p = hn::MulAdd(hn::Mul(r, r), p, r);
  const VF power = hn::BitCast(
      d, hn::ShiftLeft<23>(hn::Add(hn::ConvertTo(DI(), n), hn::Set(DI(), 127))));
  return keep_nan(value, hn::MulAdd(power, p, hn::Sub(power, set(1.0f))));
}
HWY_INLINE VF elu_of(VF x, float alpha, float scale) {
  return hn::IfThenElse(hn::Gt(x, zero()), hn::Mul(x, set(scale)),
                        hn::Mul(negative_expm1_of(x), set(scale * alpha)));
}
HWY_INLINE VF elu_slope(VF y, float alpha, float scale) {
  return hn::IfThenElse(hn::Gt(y, zero()), set(scale), hn::Add(y, set(scale * alpha)));
}

#define UNARY(name, expression)                                                 \
  void name(const float* params, const void* const* in, void* out, size_t n) {  \
    (void)params;                                                               \
    map1(DF(), DF(), in[0], out, n, [&](VF x) HWY_ATTR { return expression; }); \
  }
#define BINARY(name, D, R, V, expression)                                                \
  void name(const float* params, const void* const* in, void* out, size_t n) {           \
    (void)params;                                                                        \
    map2(D(), R(), in[0], in[1], out, n, [&](V a, V b) HWY_ATTR { return expression; }); \
  }

UNARY(Abs, hn::Abs(x))
UNARY(Negate, hn::Neg(x))
UNARY(Sign, keep_nan(x, hn::IfThenElse(hn::Eq(x, zero()), zero(), hn::CopySign(set(1.0f), x))))
UNARY(Floor, hn::Floor(x))
UNARY(RoundNearestEven, hn::Round(x))
UNARY(Exponential, exp_of(x))
UNARY(ExponentialMinusOne, expm1_of(x))
UNARY(Log, log_of(x))
UNARY(LogPlusOne, log1p_of(x))
UNARY(Logistic, hn::Div(set(1.0f), hn::Add(set(1.0f), exp_of(hn::Neg(x)))))
UNARY(Tanh, tanh_of(x))
UNARY(Erf, erf_of(x))
UNARY(Sqrt, hn::Sqrt(x))
UNARY(Rsqrt, hn::Div(set(1.0f), hn::Sqrt(x)))
UNARY(Sine, hn::Sin(DF(), x))
UNARY(Cosine, hn::Cos(DF(), x))
UNARY(Relu, hn::IfThenElse(hn::Gt(x, zero()), x, keep_nan(x, zero())))
UNARY(Elu, elu_of(x, params[0], params[1]))
BINARY(Add, DF, DF, VF, hn::Add(a, b))
BINARY(Subtract, DF, DF, VF, hn::Sub(a, b))
BINARY(Multiply, DF, DF, VF, hn::Mul(a, b))
BINARY(Divide, DF, DF, VF, hn::Div(a, b))
BINARY(Maximum, DF, DF, VF, maximum_of(a, b))
BINARY(Minimum, DF, DF, VF, minimum_of(a, b))
BINARY(ReluGradient, DF, DF, VF, hn::IfThenElseZero(hn::Gt(a, zero()), b))
BINARY(EluGradient, DF, DF, VF, hn::Mul(b, elu_slope(a, params[0], params[1])))
BINARY(Eq, DF, DI, VF, as_ints(hn::Eq(a, b)))
BINARY(Ne, DF, DI, VF, hn::Not(as_ints(hn::Eq(a, b))))
BINARY(Lt, DF, DI, VF, as_ints(hn::Lt(a, b)))
BINARY(Le, DF, DI, VF, as_ints(hn::Le(a, b)))
BINARY(Gt, DF, DI, VF, as_ints(hn::Gt(a, b)))
BINARY(Ge, DF, DI, VF, as_ints(hn::Ge(a, b)))
BINARY(IntEq, DI, DI, VI, as_ints(hn::Eq(a, b)))
BINARY(IntNe, DI, DI, VI, hn::Not(as_ints(hn::Eq(a, b))))
BINARY(IntLt, DI, DI, VI, as_ints(hn::Lt(a, b)))
BINARY(IntLe, DI, DI, VI, hn::Not(as_ints(hn::Gt(a, b))))
BINARY(IntGt, DI, DI, VI, as_ints(hn::Gt(a, b)))
BINARY(IntGe, DI, DI, VI, hn::Not(as_ints(hn::Lt(a, b))))
BINARY(IntAdd, DI, DI, VI, hn::Add(a, b))
BINARY(IntSubtract, DI, DI, VI, hn::Sub(a, b))
BINARY(IntMultiply, DI, DI, VI, hn::Mul(a, b))
BINARY(And, DI, DI, VI, hn::And(a, b))
BINARY(Or, DI, DI, VI, hn::Or(a, b))

void IsFinite(const float*, const void* const* in, void* out, size_t n) {
  map1(DF(), DI(), in[0], out, n, [](VF x) HWY_ATTR { return as_ints(hn::IsFinite(x)); });
}
void Not(const float*, const void* const* in, void* out, size_t n) {
  map1(DI(), DI(), in[0], out, n, [](VI x) HWY_ATTR { return hn::Not(x); });
}
void FloatToInt(const float*, const void* const* in, void* out, size_t n) {
  map1(DF(), DI(), in[0], out, n, [](VF x) HWY_ATTR { return hn::ConvertTo(DI(), x); });
}
void IntToFloat(const float*, const void* const* in, void* out, size_t n) {
  map1(DI(), DF(), in[0], out, n, [](VI x) HWY_ATTR { return hn::ConvertTo(DF(), x); });
}
void MaskToFloat(const float*, const void* const* in, void* out, size_t n) {
  map1(DI(), DF(), in[0], out, n,
       [](VI x) HWY_ATTR { return hn::And(hn::BitCast(DF(), x), set(1.0f)); });
}
void MaskToInt(const float*, const void* const* in, void* out, size_t n) {
  map1(DI(), DI(), in[0], out, n, [](VI x) HWY_ATTR { return hn::And(x, hn::Set(DI(), 1)); });
}

// Lane by lane: powers and remainders are rare, and libm's are exact where vectors' are not.
void Power(const float*, const void* const* in, void* out, size_t n) {
  const auto *a = static_cast<const float*>(in[0]), *b = static_cast<const float*>(in[1]);
  for (size_t i = 0; i < n; ++i) static_cast<float*>(out)[i] = std::pow(a[i], b[i]);
}
void Remainder(const float*, const void* const* in, void* out, size_t n) {
  const auto *a = static_cast<const float*>(in[0]), *b = static_cast<const float*>(in[1]);
  for (size_t i = 0; i < n; ++i) static_cast<float*>(out)[i] = std::fmod(a[i], b[i]);
}
void Select(const float*, const void* const* in, void* out, size_t n) {
  const auto *c = static_cast<const int32_t*>(in[0]), *a = static_cast<const int32_t*>(in[1]),
             *b = static_cast<const int32_t*>(in[2]);
  auto* y = static_cast<int32_t*>(out);
  for (size_t i = 0; i < n; ++i) y[i] = (c[i] & a[i]) | (~c[i] & b[i]);
}
void BytesToMask(const float*, const void* const* in, void* out, size_t n) {
  const auto* x = static_cast<const uint8_t*>(in[0]);
  for (size_t i = 0; i < n; ++i) static_cast<int32_t*>(out)[i] = x[i] != 0 ? -1 : 0;
}
void MaskToBytes(const float*, const void* const* in, void* out, size_t n) {
  const auto* x = static_cast<const int32_t*>(in[0]);
  for (size_t i = 0; i < n; ++i) static_cast<uint8_t*>(out)[i] = x[i] != 0;
}

// -- dropout: one u16 word of the mask stands for 16 elements

using D16 = hn::CappedTag<float, 16>;
using V16 = hn::Vec<D16>;
using I16 = hn::RebindToSigned<D16>;
using U16 = hn::RebindToUnsigned<D16>;
using U64 = hn::RepartitionToWide<U16>;

HWY_INLINE hn::Mask<D16> bits_mask(uint32_t word) {
  const I16 d;
  const auto bit = hn::Shl(hn::Set(d, 1), hn::Iota(d, 0));
  return hn::RebindMask(D16(),
                        hn::Ne(hn::And(hn::Set(d, static_cast<int32_t>(word)), bit), hn::Zero(d)));
}

// Of a dropped result that long ago left the nearer caches, so many floats before they are read.
constexpr size_t kAhead = 256;

/// out = kept ? f(a, b) : 0, with a and b read 16 at a time; the last 16 may be partly there.
template <class F>
HWY_INLINE void masked(const float* a, const float* b, const uint16_t* mask, float* out, size_t n,
                       F f) {
  const D16 d;
  const size_t lanes = hn::Lanes(d);
  alignas(64) float ta[16] = {}, tb[16] = {}, ty[16];
  for (size_t i = 0; i < n; i += 16) {
    const bool whole = i + 16 <= n;
    if (!whole) {
      std::memcpy(ta, a + i, (n - i) * 4);
      std::memcpy(tb, b + i, (n - i) * 4);
    }
    const float *xa = whole ? a + i : ta, *xb = whole ? b + i : tb;
    float* y = whole ? out + i : ty;
    hwy::Prefetch(a + i + kAhead);
    for (size_t j = 0; j < 16; j += lanes) {
      const auto kept = bits_mask(static_cast<uint32_t>(mask[i / 16]) >> j);
      hn::StoreU(hn::IfThenElseZero(kept, f(hn::LoadU(d, xa + j), hn::LoadU(d, xb + j))), d, y + j);
    }
    if (!whole) std::memcpy(out + i, ty, (n - i) * 4);
  }
}

void DropoutGradient(const float* params, const void* const* in, void* out, size_t n) {
  const auto* dy = static_cast<const float*>(in[0]);
  const V16 scale = hn::Set(D16(), params[0]);
  masked(dy, dy, static_cast<const uint16_t*>(in[1]), static_cast<float*>(out), n,
         [&](V16 g, V16) HWY_ATTR { return hn::Mul(g, scale); });
}

// Operands: the dropped result y' = y * scale where kept, dy, mask. y is y' * (1 - rate) there.
void DropoutEluGradient(const float* params, const void* const* in, void* out, size_t n) {
  const D16 d;
  const V16 scale = hn::Set(d, params[0]), keep = hn::Set(d, params[1]);
  const V16 slope = hn::Set(d, params[3]), negative = hn::Set(d, params[2] * params[3]);
  masked(
      static_cast<const float*>(in[0]), static_cast<const float*>(in[1]),
      static_cast<const uint16_t*>(in[2]), static_cast<float*>(out), n, [&](V16 y, V16 g) HWY_ATTR {
        const auto is_positive = hn::Gt(y, hn::Zero(d));
        const V16 factor = hn::IfThenElse(is_positive, slope, hn::Add(hn::Mul(y, keep), negative));
        return hn::Mul(hn::Mul(g, scale), factor);
      });
}

void DropoutReluGradient(const float* params, const void* const* in, void* out, size_t n) {
  const D16 d;
  const V16 scale = hn::Set(d, params[0]);
  masked(static_cast<const float*>(in[0]), static_cast<const float*>(in[1]),
         static_cast<const uint16_t*>(in[2]), static_cast<float*>(out), n,
         [&](V16 y, V16 g)
             HWY_ATTR { return hn::IfThenElseZero(hn::Gt(y, hn::Zero(d)), hn::Mul(g, scale)); });
}

using V32 = hn::Vec<U16>;

/// The high word of each product in the even lanes.
HWY_INLINE V32 high_words(hn::Vec<U64> products) {
  return hn::BitCast(U16(), hn::ShiftRight<32>(products));
}

/// The four Philox words of lanes c0, c0 + 1, ... Even lanes alone are multiplied: one vector of
/// each word stands for the even counters, one for the odd ones, and odd lanes hold leftovers.
HWY_INLINE void philox(const DropoutRow& row, uint32_t c0, V32 (&words)[4]) {
  const U16 d;
  const V32 first = hn::Add(hn::Set(d, c0), hn::Iota(d, 0));
  V32 a[2] = {first, hn::Add(first, hn::Set(d, 1))}, b[2], c[2], e[2];
  for (int i = 0; i < 2; ++i) {
    b[i] = hn::Set(d, row.row);
    c[i] = hn::Set(d, row.train_step);
    e[i] = hn::Set(d, row.site);
  }
  const V32 m0 = hn::Set(d, 0xD2511F53u), m1 = hn::Set(d, 0xCD9E8D57u);
  uint32_t k0 = row.key0, k1 = row.key1;
  for (int round = 0; round < 10; ++round) {
    const V32 key0 = hn::Set(d, k0), key1 = hn::Set(d, k1);
    for (int i = 0; i < 2; ++i) {
      const auto p0 = hn::MulEven(a[i], m0), p1 = hn::MulEven(c[i], m1);
      a[i] = hn::Xor(hn::Xor(b[i], key0), high_words(p1));
      b[i] = hn::BitCast(d, p1);
      c[i] = hn::Xor(hn::Xor(e[i], key1), high_words(p0));
      e[i] = hn::BitCast(d, p0);
    }
    k0 += 0x9E3779B9u;
    k1 += 0xBB67AE85u;
  }
  const auto join = [](const V32(&v)[2]) HWY_ATTR {
    return hn::OddEven(hn::BitCast(U16(), hn::ShiftLeft<32>(hn::BitCast(U64(), v[1]))), v[0]);
  };
  words[0] = join(a), words[1] = join(b), words[2] = join(c), words[3] = join(e);
}

/// The eight mask words of elements [128 chunk, 128 chunk + 128).
HWY_INLINE void mask_words(const DropoutRow& row, int64_t chunk, uint16_t (&mask)[8]) {
  const U16 d;
  const size_t lanes = hn::Lanes(d);
  const I16 signed_d;
  const auto below = hn::Set(signed_d, static_cast<int32_t>(row.threshold) - 1);
  const V32 low = hn::Set(d, 0xffffu);
  for (uint16_t& word : mask) word = 0;
  for (size_t lane = 0; lane < 16; lane += lanes) {
    V32 words[4];
    philox(row, static_cast<uint32_t>(16 * chunk) + static_cast<uint32_t>(lane), words);
    for (size_t half = 0; half < 8; ++half) {
      const V32 word = words[half / 2];
      const V32 value = half % 2 == 0 ? hn::And(word, low) : hn::ShiftRight<16>(word);
      const auto is_kept = hn::Gt(hn::BitCast(signed_d, value), below);
      if constexpr (hn::MaxLanes(U16()) >= 8) {
        // Whole bytes, the lowest of a word first.
        hn::StoreMaskBits(signed_d, is_kept, reinterpret_cast<uint8_t*>(&mask[half]) + lane / 8);
      } else {
        uint8_t bits[8] = {};
        hn::StoreMaskBits(signed_d, is_kept, bits);
        mask[half] |= static_cast<uint16_t>(bits[0] << lane);
      }
    }
  }
}

void Row(const DropoutRow& row) {
  const V16 scale = hn::Set(D16(), row.scale);
  for (int64_t chunk = 0; chunk * 128 < row.n; ++chunk) {
    uint16_t words[8];
    mask_words(row, chunk, words);
    const int64_t first = chunk * 128, count = row.n - first < 128 ? row.n - first : 128;
    const int64_t used = (count + 15) / 16;
    // Elements beyond the row have no bit.
    if (count % 16 != 0) words[used - 1] &= static_cast<uint16_t>((1u << (count % 16)) - 1);
    std::memcpy(row.mask + chunk * 8, words, static_cast<size_t>(used) * 2);
    if (row.x == nullptr) continue;
    masked(row.x + first, row.x + first, words, row.y + first, static_cast<size_t>(count),
           [&](V16 x, V16) HWY_ATTR { return hn::Mul(x, scale); });
  }
}

const char* Target() {
  return hwy::TargetName(HWY_TARGET);
}
int64_t Floats() {
  return static_cast<int64_t>(hn::Lanes(DF()));
}

PointFn Table(PointOp op) {
  static constexpr PointFn kTable[] = {
#define POINT(name) &name,
      LOCKSTEP_POINT_OPS(POINT)
#undef POINT
  };
  return kTable[static_cast<size_t>(op)];
}

}  // namespace HWY_NAMESPACE
}  // namespace lockstep
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace lockstep {

HWY_EXPORT(Table);
HWY_EXPORT(Target);
HWY_EXPORT(Floats);
HWY_EXPORT(Row);

PointFn point_function(PointOp op) {
  return HWY_DYNAMIC_DISPATCH(Table)(op);
}
int64_t vector_floats() {
  return HWY_DYNAMIC_DISPATCH(Floats)();
}
const char* vector_target_name() {
  return HWY_DYNAMIC_DISPATCH(Target)();
}
void use_narrow_vectors(bool is_narrow) {
  hwy::SetSupportedTargetsForTest(is_narrow ? HWY_STATIC_TARGET : 0);
  hwy::GetChosenTarget().Update(hwy::SupportedTargets());
}
void dropout_row(const DropoutRow& row) {
  HWY_DYNAMIC_DISPATCH(Row)(row);
}

}  // namespace lockstep
#endif  // HWY_ONCE
