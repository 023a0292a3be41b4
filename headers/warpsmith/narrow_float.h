// One 16-bit float type, its pair, and CUDA's functions over both. Included by cuda_fp16.h and cuda_bf16.h, which define
//   __WS_T, __WS_T2          the scalar and the pair class (__half, __half2)
//   __WS_RAW, __WS_RAW2      their plain-bits structs
//   __WS_S, __WS_P           the words CUDA's function names are made of (half, half2)
//   __WS_NATIVE              clang's arithmetic type (_Float16)
//   __WS_PACK_RN(high, low)  two floats to a pair's 32 bits, round to nearest even
//   __WS_ADD/SUB/MUL/FMA     arithmetic on __WS_NATIVE and on vectors of two of them
//   __WS_ROUND_TOWARDS(mode, x)  float to bits with rounding mode rz, rd or ru
//   __WS_FROM_INTEGER_RN(i)       something that converts to __WS_NATIVE as the integer does, rounded once
//   __WS_EXACT_INTEGER(v)         the integer as something that clang converts to __WS_NATIVE with one rounding
//   __WS_NARROW_APPROX(name)      the approximate float instruction, flushing where the type has no subnormal floats
//   __WS_NARROW_RECIPROCAL(x)
//   __WS_ATOMIC_ADD_SCALAR/PAIR(address, bits)  the sum, returning the bits that were there
// No #pragma once: this file is a template.

#define __WS_PASTE3(a, b, c) a##b##c
#define __WS_NAME3(a, b, c) __WS_PASTE3(a, b, c)
#define __WS_PASTE4(a, b, c, d) a##b##c##d
#define __WS_NAME4(a, b, c, d) __WS_PASTE4(a, b, c, d)
#define __WS_VEC __WS_NAME3(__ws_, __WS_S, _vec)
#define __WS_BITS(type, value) __builtin_bit_cast(type, value)

typedef __WS_NATIVE __WS_VEC __attribute__((ext_vector_type(2)));

struct __WS_RAW {
  unsigned short x;
};
struct __attribute__((aligned(4))) __WS_RAW2 {
  unsigned short x, y;
};

struct __attribute__((aligned(2))) __WS_T {
  __WS_NATIVE __value;

  __WS_T() = default;
  __host__ __device__ constexpr __WS_T(__WS_RAW raw) : __value(__WS_BITS(__WS_NATIVE, raw)) {}
  __host__ __device__ constexpr __WS_T(float v) : __value((__WS_NATIVE)v) {}
  __host__ __device__ constexpr __WS_T(double v) : __value((__WS_NATIVE)v) {}
  __host__ __device__ constexpr __WS_T(short v) : __value((__WS_NATIVE)v) {}
  __host__ __device__ constexpr __WS_T(unsigned short v) : __value((__WS_NATIVE)v) {}
  __host__ __device__ constexpr __WS_T(int v) : __value((__WS_NATIVE)__WS_EXACT_INTEGER(v)) {}
  __host__ __device__ constexpr __WS_T(unsigned int v) : __value((__WS_NATIVE)__WS_EXACT_INTEGER(v)) {}
  __host__ __device__ constexpr __WS_T(long v) : __value((__WS_NATIVE)__WS_EXACT_INTEGER(v)) {}
  __host__ __device__ constexpr __WS_T(unsigned long v) : __value((__WS_NATIVE)__WS_EXACT_INTEGER(v)) {}
  __host__ __device__ constexpr __WS_T(long long v) : __value((__WS_NATIVE)__WS_EXACT_INTEGER(v)) {}
  __host__ __device__ constexpr __WS_T(unsigned long long v) : __value((__WS_NATIVE)__WS_EXACT_INTEGER(v)) {}

  __host__ __device__ constexpr operator float() const { return (float)__value; }
  __host__ __device__ constexpr operator __WS_RAW() const { return __WS_BITS(__WS_RAW, __value); }
  __host__ __device__ constexpr operator bool() const { return (float)__value != 0.0f; }
  __host__ __device__ constexpr operator signed char() const { return (signed char)(float)__value; }
  __host__ __device__ constexpr operator unsigned char() const { return (unsigned char)(float)__value; }
  __host__ __device__ constexpr operator char() const { return (char)(float)__value; }
  __host__ __device__ constexpr operator short() const { return (short)(float)__value; }
  __host__ __device__ constexpr operator unsigned short() const { return (unsigned short)(float)__value; }
  __host__ __device__ constexpr operator int() const { return (int)(float)__value; }
  __host__ __device__ constexpr operator unsigned int() const { return (unsigned int)(float)__value; }
  __host__ __device__ constexpr operator long() const { return (long)(float)__value; }
  __host__ __device__ constexpr operator unsigned long() const { return (unsigned long)(float)__value; }
  __host__ __device__ constexpr operator long long() const { return (long long)(float)__value; }
  __host__ __device__ constexpr operator unsigned long long() const { return (unsigned long long)(float)__value; }

  __host__ __device__ constexpr __WS_T& operator=(float v) { __value = (__WS_NATIVE)v; return *this; }
  __host__ __device__ constexpr __WS_T& operator=(double v) { __value = (__WS_NATIVE)v; return *this; }
  __host__ __device__ constexpr __WS_T& operator=(int v) { __value = (__WS_NATIVE)__WS_EXACT_INTEGER(v); return *this; }
  __host__ __device__ constexpr __WS_T& operator=(unsigned int v) { __value = (__WS_NATIVE)__WS_EXACT_INTEGER(v); return *this; }
  __host__ __device__ constexpr __WS_T& operator=(__WS_RAW v) { __value = __WS_BITS(__WS_NATIVE, v); return *this; }
};

struct __attribute__((aligned(4))) __WS_T2 {
  __WS_T x, y;

  __WS_T2() = default;
  __host__ __device__ constexpr __WS_T2(const __WS_T& x, const __WS_T& y) : x(x), y(y) {}
  __host__ __device__ constexpr __WS_T2(__WS_RAW2 raw) : x(__WS_RAW{raw.x}), y(__WS_RAW{raw.y}) {}
  __host__ __device__ constexpr operator __WS_RAW2() const { return __WS_BITS(__WS_RAW2, *this); }
};

#define __WS_SCALAR(native_) (__WS_BITS(__WS_T, (__WS_NATIVE)(native_)))
#define __WS_PAIR(vector_) (__WS_BITS(__WS_T2, (__WS_VEC)(vector_)))
#define __WS_VECTOR_OF(pair) (__WS_BITS(__WS_VEC, pair))

// --- Bits -----------------------------------------------------------------------------------------------------------
__WS_BOTH short __WS_NAME3(__, __WS_S, _as_short)(__WS_T h) { return __WS_BITS(short, h); }
__WS_BOTH unsigned short __WS_NAME3(__, __WS_S, _as_ushort)(__WS_T h) { return __WS_BITS(unsigned short, h); }
__WS_BOTH __WS_T __WS_NAME3(__short_as_, __WS_S, )(short bits) { return __WS_BITS(__WS_T, bits); }
__WS_BOTH __WS_T __WS_NAME3(__ushort_as_, __WS_S, )(unsigned short bits) { return __WS_BITS(__WS_T, bits); }

// --- Conversions to and from float and double -----------------------------------------------------------------------
__WS_BOTH float __WS_NAME3(__, __WS_S, 2float)(__WS_T h) { return (float)h.__value; }
__WS_BOTH __WS_T __WS_NAME3(__float2, __WS_S, )(float f) { return __WS_SCALAR(f); }
__WS_BOTH __WS_T __WS_NAME3(__float2, __WS_S, _rn)(float f) { return __WS_SCALAR(f); }
__WS_BOTH __WS_T __WS_NAME3(__float2, __WS_S, _rz)(float f) { return __WS_BITS(__WS_T, __WS_ROUND_TOWARDS(rz, f)); }
__WS_BOTH __WS_T __WS_NAME3(__float2, __WS_S, _rd)(float f) { return __WS_BITS(__WS_T, __WS_ROUND_TOWARDS(rd, f)); }
__WS_BOTH __WS_T __WS_NAME3(__float2, __WS_S, _ru)(float f) { return __WS_BITS(__WS_T, __WS_ROUND_TOWARDS(ru, f)); }
__WS_BOTH __WS_T __WS_NAME3(__double2, __WS_S, )(double d) { return __WS_SCALAR(d); }

__WS_BOTH __WS_T2 __WS_NAME3(__floats2, __WS_P, _rn)(float low, float high) {
  return __WS_BITS(__WS_T2, __WS_PACK_RN(high, low));
}
__WS_BOTH __WS_T2 __WS_NAME3(__float22, __WS_P, _rn)(float2 f) { return __WS_BITS(__WS_T2, __WS_PACK_RN(f.y, f.x)); }
__WS_BOTH __WS_T2 __WS_NAME3(__float2, __WS_P, _rn)(float f) { return __WS_BITS(__WS_T2, __WS_PACK_RN(f, f)); }
__WS_BOTH float2 __WS_NAME3(__, __WS_P, 2float2)(__WS_T2 h) {
  return float2{(float)h.x.__value, (float)h.y.__value};
}
__WS_BOTH float __low2float(__WS_T2 h) { return (float)h.x.__value; }
__WS_BOTH float __high2float(__WS_T2 h) { return (float)h.y.__value; }

// --- Packing --------------------------------------------------------------------------------------------------------
__WS_BOTH __WS_T2 __WS_NAME3(make_, __WS_P, )(__WS_T x, __WS_T y) { return __WS_T2(x, y); }
__WS_BOTH __WS_T2 __WS_NAME3(__halves2, __WS_P, )(__WS_T low, __WS_T high) { return __WS_T2(low, high); }
__WS_BOTH __WS_T2 __WS_NAME4(__, __WS_S, 2, __WS_P)(__WS_T h) { return __WS_T2(h, h); }
__WS_BOTH __WS_T __WS_NAME3(__low2, __WS_S, )(__WS_T2 h) { return h.x; }
__WS_BOTH __WS_T __WS_NAME3(__high2, __WS_S, )(__WS_T2 h) { return h.y; }
__WS_BOTH __WS_T2 __WS_NAME3(__low2, __WS_P, )(__WS_T2 h) { return __WS_T2(h.x, h.x); }
__WS_BOTH __WS_T2 __WS_NAME3(__high2, __WS_P, )(__WS_T2 h) { return __WS_T2(h.y, h.y); }
__WS_BOTH __WS_T2 __WS_NAME3(__lows2, __WS_P, )(__WS_T2 a, __WS_T2 b) { return __WS_T2(a.x, b.x); }
__WS_BOTH __WS_T2 __WS_NAME3(__highs2, __WS_P, )(__WS_T2 a, __WS_T2 b) { return __WS_T2(a.y, b.y); }
__WS_BOTH __WS_T2 __lowhigh2highlow(__WS_T2 h) { return __WS_T2(h.y, h.x); }

// --- Conversions to and from integers -------------------------------------------------------------------------------
// To integers: saturating, NaN as the cvt instruction has it (0 in 32 bits). All go by float, which is exact.
#define __WS_TO_INTEGER(type, word, mode, convert) \
  __WS_BOTH type __WS_NAME4(__, __WS_S, 2##word, _##mode)(__WS_T h) { return convert((float)h.__value); }
#define __WS_TO_SMALL_INTEGER(type, word, mode, convert, low, high)                       \
  __WS_BOTH type __WS_NAME4(__, __WS_S, 2##word, _##mode)(__WS_T h) {                     \
    const int value = convert((float)h.__value);                                          \
    return (type)(value < low ? low : value > high ? high : value);                       \
  }
#define __WS_TO_INTEGERS(mode, ptx)                                                       \
  __WS_TO_INTEGER(int, int, mode, __nvvm_f2i_##ptx)                                       \
  __WS_TO_INTEGER(unsigned int, uint, mode, __nvvm_f2ui_##ptx)                            \
  __WS_TO_INTEGER(long long, ll, mode, __nvvm_f2ll_##ptx)                                 \
  __WS_TO_INTEGER(unsigned long long, ull, mode, __nvvm_f2ull_##ptx)                      \
  __WS_TO_SMALL_INTEGER(short, short, mode, __nvvm_f2i_##ptx, -32768, 32767)              \
  __WS_TO_SMALL_INTEGER(unsigned short, ushort, mode, __nvvm_f2i_##ptx, 0, 65535)
__WS_TO_INTEGERS(rn, rn)
__WS_TO_INTEGERS(rz, rz)
__WS_TO_INTEGERS(rd, rm)
__WS_TO_INTEGERS(ru, rp)
__WS_TO_SMALL_INTEGER(signed char, char, rz, __nvvm_f2i_rz, -128, 127)
__WS_TO_SMALL_INTEGER(unsigned char, uchar, rz, __nvvm_f2i_rz, 0, 255)

#define __WS_FROM_INTEGER(type, word)                                                                          \
  __WS_BOTH __WS_T __WS_NAME4(__, word##2, __WS_S, _rn)(type i) { return __WS_SCALAR(__WS_FROM_INTEGER_RN(i)); }                   \
  __WS_BOTH __WS_T __WS_NAME4(__, word##2, __WS_S, _rz)(type i) {                                              \
    return __WS_BITS(__WS_T, __WS_ROUND_TOWARDS(rz, __ws_integer_to_float_odd(i)));                            \
  }                                                                                                            \
  __WS_BOTH __WS_T __WS_NAME4(__, word##2, __WS_S, _rd)(type i) {                                              \
    return __WS_BITS(__WS_T, __WS_ROUND_TOWARDS(rd, __ws_integer_to_float_odd(i)));                            \
  }                                                                                                            \
  __WS_BOTH __WS_T __WS_NAME4(__, word##2, __WS_S, _ru)(type i) {                                              \
    return __WS_BITS(__WS_T, __WS_ROUND_TOWARDS(ru, __ws_integer_to_float_odd(i)));                            \
  }
__WS_FROM_INTEGER(int, int)
__WS_FROM_INTEGER(unsigned int, uint)
__WS_FROM_INTEGER(long long, ll)
__WS_FROM_INTEGER(unsigned long long, ull)
#define __WS_FROM_SMALL_INTEGER(type, word, wide)                                                                      \
  __WS_BOTH __WS_T __WS_NAME4(__, word##2, __WS_S, _rn)(type i) { return __WS_NAME4(__, wide##2, __WS_S, _rn)(i); }    \
  __WS_BOTH __WS_T __WS_NAME4(__, word##2, __WS_S, _rz)(type i) { return __WS_NAME4(__, wide##2, __WS_S, _rz)(i); }    \
  __WS_BOTH __WS_T __WS_NAME4(__, word##2, __WS_S, _rd)(type i) { return __WS_NAME4(__, wide##2, __WS_S, _rd)(i); }    \
  __WS_BOTH __WS_T __WS_NAME4(__, word##2, __WS_S, _ru)(type i) { return __WS_NAME4(__, wide##2, __WS_S, _ru)(i); }
__WS_FROM_SMALL_INTEGER(short, short, int)
__WS_FROM_SMALL_INTEGER(unsigned short, ushort, uint)
#undef __WS_FROM_SMALL_INTEGER

// --- Arithmetic -----------------------------------------------------------------------------------------------------
#define __WS_BINARY(word, macro)                                                                                      \
  __WS_BOTH __WS_T __h##word(__WS_T a, __WS_T b) { return __WS_SCALAR(macro(a.__value, b.__value)); }                 \
  __WS_BOTH __WS_T2 __h##word##2(__WS_T2 a, __WS_T2 b) {                                                              \
    return __WS_PAIR(macro(__WS_VECTOR_OF(a), __WS_VECTOR_OF(b)));                                                    \
  }                                                                                                                   \
  __WS_BOTH __WS_T __h##word##_sat(__WS_T a, __WS_T b) {                                                              \
    return __WS_SCALAR(__ws_saturate_narrow((__WS_NATIVE)macro(a.__value, b.__value)));                               \
  }                                                                                                                   \
  __WS_BOTH __WS_T2 __h##word##2_sat(__WS_T2 a, __WS_T2 b) {                                                          \
    return __WS_PAIR(__ws_saturate_narrow((__WS_VEC)macro(__WS_VECTOR_OF(a), __WS_VECTOR_OF(b))));                    \
  }
__WS_BINARY(add, __WS_ADD)
__WS_BINARY(sub, __WS_SUB)
__WS_BINARY(mul, __WS_MUL)

// The _rn forms may not be fused with a neighbour.
#define __WS_BINARY_RN(word, operator_)                                               \
  __WS_BOTH __WS_T __h##word##_rn(__WS_T a, __WS_T b) {                               \
    _Pragma("clang fp contract(off)") return __WS_SCALAR(a.__value operator_ b.__value); \
  }                                                                                   \
  __WS_BOTH __WS_T2 __h##word##2_rn(__WS_T2 a, __WS_T2 b) {                           \
    _Pragma("clang fp contract(off)") return __WS_PAIR(__WS_VECTOR_OF(a) operator_ __WS_VECTOR_OF(b)); \
  }
__WS_BINARY_RN(add, +)
__WS_BINARY_RN(sub, -)
__WS_BINARY_RN(mul, *)

__WS_BOTH __WS_T __hfma(__WS_T a, __WS_T b, __WS_T c) { return __WS_SCALAR(__WS_FMA(a.__value, b.__value, c.__value)); }
__WS_BOTH __WS_T2 __hfma2(__WS_T2 a, __WS_T2 b, __WS_T2 c) {
  return __WS_PAIR(__WS_FMA(__WS_VECTOR_OF(a), __WS_VECTOR_OF(b), __WS_VECTOR_OF(c)));
}
__WS_BOTH __WS_T __hfma_sat(__WS_T a, __WS_T b, __WS_T c) {
  return __WS_SCALAR(__ws_saturate_narrow(__WS_FMA(a.__value, b.__value, c.__value)));
}
__WS_BOTH __WS_T2 __hfma2_sat(__WS_T2 a, __WS_T2 b, __WS_T2 c) {
  return __WS_PAIR(__ws_saturate_narrow(__WS_FMA(__WS_VECTOR_OF(a), __WS_VECTOR_OF(b), __WS_VECTOR_OF(c))));
}
// relu: negative results become +0, NaN becomes canonical NaN.
__WS_BOTH __WS_T __hfma_relu(__WS_T a, __WS_T b, __WS_T c) {
  return __WS_SCALAR(__ws_maximum(__WS_FMA(a.__value, b.__value, c.__value), (__WS_NATIVE)0.0f));
}
__WS_BOTH __WS_T2 __hfma2_relu(__WS_T2 a, __WS_T2 b, __WS_T2 c) {
  return __WS_PAIR(__ws_maximum(
      __WS_FMA(__WS_VECTOR_OF(a), __WS_VECTOR_OF(b), __WS_VECTOR_OF(c)), (__WS_VEC)(__WS_NATIVE)0.0f));
}
// (a.x + i a.y)(b.x + i b.y) + c
__WS_BOTH __WS_T2 __hcmadd(__WS_T2 a, __WS_T2 b, __WS_T2 c) {
  const __WS_NATIVE real = __WS_FMA(-a.y.__value, b.y.__value, __WS_FMA(a.x.__value, b.x.__value, c.x.__value));
  const __WS_NATIVE imaginary = __WS_FMA(a.y.__value, b.x.__value, __WS_FMA(a.x.__value, b.y.__value, c.y.__value));
  return __WS_T2(__WS_SCALAR(real), __WS_SCALAR(imaginary));
}

// The quotient of two narrow floats, rounded to float and again, is the correctly rounded one: 24 >= 2p + 2.
__WS_BOTH __WS_T __hdiv(__WS_T a, __WS_T b) { return __WS_SCALAR(__nvvm_div_rn_f((float)a.__value, (float)b.__value)); }
__WS_BOTH __WS_T2 __h2div(__WS_T2 a, __WS_T2 b) { return __WS_T2(__hdiv(a.x, b.x), __hdiv(a.y, b.y)); }
__WS_BOTH __WS_T __hneg(__WS_T a) { return __WS_SCALAR(-a.__value); }
__WS_BOTH __WS_T2 __hneg2(__WS_T2 a) { return __WS_PAIR(-__WS_VECTOR_OF(a)); }
__WS_BOTH __WS_T __habs(__WS_T a) { return __WS_SCALAR(__builtin_elementwise_abs(a.__value)); }
__WS_BOTH __WS_T2 __habs2(__WS_T2 a) { return __WS_PAIR(__builtin_elementwise_abs(__WS_VECTOR_OF(a))); }

// --- Comparisons ----------------------------------------------------------------------------------------------------
#define __WS_COMPARE(word, ordered, unordered)                                                                         \
  __WS_BOTH bool __h##word(__WS_T a, __WS_T b) { return ordered(a.__value, b.__value); }                               \
  __WS_BOTH bool __h##word##u(__WS_T a, __WS_T b) { return unordered(a.__value, b.__value); }                          \
  __WS_BOTH bool __hb##word##2(__WS_T2 a, __WS_T2 b) { return __h##word(a.x, b.x) && __h##word(a.y, b.y); }            \
  __WS_BOTH bool __hb##word##u2(__WS_T2 a, __WS_T2 b) { return __h##word##u(a.x, b.x) && __h##word##u(a.y, b.y); }     \
  __WS_BOTH __WS_T2 __h##word##2(__WS_T2 a, __WS_T2 b) {                                                               \
    return __WS_T2(__WS_T(__h##word(a.x, b.x) ? 1.0f : 0.0f), __WS_T(__h##word(a.y, b.y) ? 1.0f : 0.0f));              \
  }                                                                                                                    \
  __WS_BOTH __WS_T2 __h##word##u2(__WS_T2 a, __WS_T2 b) {                                                              \
    return __WS_T2(__WS_T(__h##word##u(a.x, b.x) ? 1.0f : 0.0f), __WS_T(__h##word##u(a.y, b.y) ? 1.0f : 0.0f));        \
  }                                                                                                                    \
  __WS_BOTH unsigned int __h##word##2_mask(__WS_T2 a, __WS_T2 b) {                                                     \
    return (__h##word(a.x, b.x) ? 0xffffu : 0u) | (__h##word(a.y, b.y) ? 0xffff0000u : 0u);                            \
  }                                                                                                                    \
  __WS_BOTH unsigned int __h##word##u2_mask(__WS_T2 a, __WS_T2 b) {                                                    \
    return (__h##word##u(a.x, b.x) ? 0xffffu : 0u) | (__h##word##u(a.y, b.y) ? 0xffff0000u : 0u);                      \
  }
#define __WS_EQ(a, b) ((a) == (b))
#define __WS_NE_ORDERED(a, b) ((a) < (b) || (a) > (b))
#define __WS_NE(a, b) ((a) != (b))
#define __WS_LT(a, b) ((a) < (b))
#define __WS_LE(a, b) ((a) <= (b))
#define __WS_GT(a, b) ((a) > (b))
#define __WS_GE(a, b) ((a) >= (b))
#define __WS_EQU(a, b) (!((a) < (b) || (a) > (b)))
#define __WS_LTU(a, b) (!((a) >= (b)))
#define __WS_LEU(a, b) (!((a) > (b)))
#define __WS_GTU(a, b) (!((a) <= (b)))
#define __WS_GEU(a, b) (!((a) < (b)))
__WS_COMPARE(eq, __WS_EQ, __WS_EQU)
__WS_COMPARE(ne, __WS_NE_ORDERED, __WS_NE)
__WS_COMPARE(lt, __WS_LT, __WS_LTU)
__WS_COMPARE(le, __WS_LE, __WS_LEU)
__WS_COMPARE(gt, __WS_GT, __WS_GTU)
__WS_COMPARE(ge, __WS_GE, __WS_GEU)

__WS_BOTH bool __hisnan(__WS_T a) { return a.__value != a.__value; }
__WS_BOTH int __hisinf(__WS_T a) {
  const float f = (float)a.__value;
  return f == __builtin_inff() ? 1 : f == -__builtin_inff() ? -1 : 0;
}
__WS_BOTH __WS_T2 __hisnan2(__WS_T2 a) {
  return __WS_T2(__WS_T(__hisnan(a.x) ? 1.0f : 0.0f), __WS_T(__hisnan(a.y) ? 1.0f : 0.0f));
}

// hmax/hmin prefer the number over NaN; the _nan forms propagate it.
#define __WS_EXTREME(word, plain, propagating)                                                                        \
  __WS_BOTH __WS_T __h##word(__WS_T a, __WS_T b) { return __WS_SCALAR(plain(a.__value, b.__value)); }                 \
  __WS_BOTH __WS_T2 __h##word##2(__WS_T2 a, __WS_T2 b) {                                                              \
    return __WS_PAIR(plain(__WS_VECTOR_OF(a), __WS_VECTOR_OF(b)));                                                    \
  }                                                                                                                   \
  __WS_BOTH __WS_T __h##word##_nan(__WS_T a, __WS_T b) { return __WS_SCALAR(propagating(a.__value, b.__value)); }     \
  __WS_BOTH __WS_T2 __h##word##2_nan(__WS_T2 a, __WS_T2 b) {                                                          \
    return __WS_PAIR(propagating(__WS_VECTOR_OF(a), __WS_VECTOR_OF(b)));                                              \
  }
__WS_EXTREME(max, __builtin_elementwise_max, __ws_maximum)
__WS_EXTREME(min, __builtin_elementwise_min, __ws_minimum)

// --- Operators ------------------------------------------------------------------------------------------------------
#define __WS_OPERATORS(type, add, sub, mul, div, neg, one)                                       \
  __WS_BOTH type operator+(const type& a, const type& b) { return add(a, b); }                   \
  __WS_BOTH type operator-(const type& a, const type& b) { return sub(a, b); }                   \
  __WS_BOTH type operator*(const type& a, const type& b) { return mul(a, b); }                   \
  __WS_BOTH type operator/(const type& a, const type& b) { return div(a, b); }                   \
  __WS_BOTH type& operator+=(type& a, const type& b) { return a = add(a, b); }                   \
  __WS_BOTH type& operator-=(type& a, const type& b) { return a = sub(a, b); }                   \
  __WS_BOTH type& operator*=(type& a, const type& b) { return a = mul(a, b); }                   \
  __WS_BOTH type& operator/=(type& a, const type& b) { return a = div(a, b); }                   \
  __WS_BOTH type& operator++(type& a) { return a = add(a, one); }                                \
  __WS_BOTH type& operator--(type& a) { return a = sub(a, one); }                                \
  __WS_BOTH type operator++(type& a, int) { const type before = a; a = add(a, one); return before; } \
  __WS_BOTH type operator--(type& a, int) { const type before = a; a = sub(a, one); return before; } \
  __WS_BOTH type operator+(const type& a) { return a; }                                          \
  __WS_BOTH type operator-(const type& a) { return neg(a); }
__WS_OPERATORS(__WS_T, __hadd, __hsub, __hmul, __hdiv, __hneg, __WS_T(1.0f))
__WS_OPERATORS(__WS_T2, __hadd2, __hsub2, __hmul2, __h2div, __hneg2, __WS_T2(__WS_T(1.0f), __WS_T(1.0f)))
__WS_BOTH bool operator==(const __WS_T& a, const __WS_T& b) { return __heq(a, b); }
__WS_BOTH bool operator!=(const __WS_T& a, const __WS_T& b) { return __hneu(a, b); }
__WS_BOTH bool operator<(const __WS_T& a, const __WS_T& b) { return __hlt(a, b); }
__WS_BOTH bool operator<=(const __WS_T& a, const __WS_T& b) { return __hle(a, b); }
__WS_BOTH bool operator>(const __WS_T& a, const __WS_T& b) { return __hgt(a, b); }
__WS_BOTH bool operator>=(const __WS_T& a, const __WS_T& b) { return __hge(a, b); }
__WS_BOTH bool operator==(const __WS_T2& a, const __WS_T2& b) { return __hbeq2(a, b); }
__WS_BOTH bool operator!=(const __WS_T2& a, const __WS_T2& b) { return __hbneu2(a, b); }
__WS_BOTH bool operator<(const __WS_T2& a, const __WS_T2& b) { return __hblt2(a, b); }
__WS_BOTH bool operator<=(const __WS_T2& a, const __WS_T2& b) { return __hble2(a, b); }
__WS_BOTH bool operator>(const __WS_T2& a, const __WS_T2& b) { return __hbgt2(a, b); }
__WS_BOTH bool operator>=(const __WS_T2& a, const __WS_T2& b) { return __hbge2(a, b); }

// --- Functions evaluated in float: error at most 1 ulp of the narrow type --------------------------------------------
#define __WS_BY_FLOAT(word, expression)                                                                      \
  __WS_BOTH __WS_T h##word(__WS_T a) {                                                                       \
    const float f = (float)a.__value;                                                                        \
    return __WS_SCALAR((float)(expression));                                                                 \
  }                                                                                                          \
  __WS_BOTH __WS_T2 h2##word(__WS_T2 a) { return __WS_T2(h##word(a.x), h##word(a.y)); }
__WS_BY_FLOAT(ceil, __builtin_ceilf(f))
__WS_BY_FLOAT(floor, __builtin_floorf(f))
__WS_BY_FLOAT(trunc, __builtin_truncf(f))
__WS_BY_FLOAT(rint, __builtin_rintf(f))
__WS_BY_FLOAT(sqrt, __WS_NARROW_APPROX(sqrt_approx)(f))
__WS_BY_FLOAT(rsqrt, __WS_NARROW_APPROX(rsqrt_approx)(f))
__WS_BY_FLOAT(rcp, __WS_NARROW_RECIPROCAL(f))
__WS_BY_FLOAT(exp2, __WS_NARROW_APPROX(ex2_approx)(f))
__WS_BY_FLOAT(exp, __WS_NARROW_APPROX(ex2_approx)(__nvvm_fma_rn_f(f, 0x1.715476p+0f, f * 0x1.4ae0cp-26f)))
__WS_BY_FLOAT(exp10, __WS_NARROW_APPROX(ex2_approx)(__nvvm_fma_rn_f(f, 0x1.a934fp+1f, f * 0x1.2f346ep-24f)))
__WS_BY_FLOAT(log2, log2f(f))
__WS_BY_FLOAT(log, logf(f))
__WS_BY_FLOAT(log10, log10f(f))
__WS_BY_FLOAT(sin, sinf(f))
__WS_BY_FLOAT(cos, cosf(f))
__WS_BY_FLOAT(tanh, tanhf(f))
__WS_BY_FLOAT(tanh_approx, __tanhf(f))

// --- Memory, shuffles -----------------------------------------------------------------------------------------------
#define __WS_NARROW_MEMORY(name)                                                                                  \
  __WS_DEVICE __WS_T name(const __WS_T* p) { return __WS_BITS(__WS_T, name((const unsigned short*)p)); }          \
  __WS_DEVICE __WS_T2 name(const __WS_T2* p) { return __WS_BITS(__WS_T2, name((const unsigned int*)p)); }
#define __WS_NARROW_STORE(name)                                                                                   \
  __WS_DEVICE void name(__WS_T* p, __WS_T v) { name((unsigned short*)p, __WS_BITS(unsigned short, v)); }          \
  __WS_DEVICE void name(__WS_T2* p, __WS_T2 v) { name((unsigned int*)p, __WS_BITS(unsigned int, v)); }
__WS_NARROW_MEMORY(__ldg)
__WS_NARROW_MEMORY(__ldca)
__WS_NARROW_MEMORY(__ldcg)
__WS_NARROW_MEMORY(__ldcs)
__WS_NARROW_MEMORY(__ldlu)
__WS_NARROW_MEMORY(__ldcv)
__WS_NARROW_STORE(__stwb)
__WS_NARROW_STORE(__stcg)
__WS_NARROW_STORE(__stcs)
__WS_NARROW_STORE(__stwt)

#define __WS_NARROW_SHUFFLE(name, lane_type)                                                                       \
  __WS_DEVICE __WS_T name(unsigned int mask, __WS_T value, lane_type lane, int width = warpSize) {                 \
    return __WS_BITS(__WS_T, (unsigned short)name(mask, (unsigned int)__WS_BITS(unsigned short, value), lane, width)); \
  }                                                                                                                \
  __WS_DEVICE __WS_T2 name(unsigned int mask, __WS_T2 value, lane_type lane, int width = warpSize) {               \
    return __WS_BITS(__WS_T2, name(mask, __WS_BITS(unsigned int, value), lane, width));                            \
  }
__WS_NARROW_SHUFFLE(__shfl_sync, int)
__WS_NARROW_SHUFFLE(__shfl_up_sync, unsigned int)
__WS_NARROW_SHUFFLE(__shfl_down_sync, unsigned int)
__WS_NARROW_SHUFFLE(__shfl_xor_sync, int)

// --- Atomics --------------------------------------------------------------------------------------------------------
// A pair is added element by element: each sum is atomic, the pair is not.
__WS_DEVICE __WS_T atomicAdd(__WS_T* address, __WS_T value) {
  return __WS_BITS(__WS_T, __WS_ATOMIC_ADD_SCALAR((unsigned short*)address, __WS_BITS(unsigned short, value)));
}
__WS_DEVICE __WS_T2 atomicAdd(__WS_T2* address, __WS_T2 value) {
  return __WS_BITS(__WS_T2, __WS_ATOMIC_ADD_PAIR((unsigned int*)address, __WS_BITS(unsigned int, value)));
}

#undef __WS_PASTE3
#undef __WS_NAME3
#undef __WS_PASTE4
#undef __WS_NAME4
#undef __WS_VEC
#undef __WS_BITS
#undef __WS_SCALAR
#undef __WS_PAIR
#undef __WS_VECTOR_OF
#undef __WS_TO_INTEGER
#undef __WS_TO_SMALL_INTEGER
#undef __WS_TO_INTEGERS
#undef __WS_FROM_INTEGER
#undef __WS_BINARY
#undef __WS_BINARY_RN
#undef __WS_COMPARE
#undef __WS_EQ
#undef __WS_NE_ORDERED
#undef __WS_NE
#undef __WS_LT
#undef __WS_LE
#undef __WS_GT
#undef __WS_GE
#undef __WS_EQU
#undef __WS_LTU
#undef __WS_LEU
#undef __WS_GTU
#undef __WS_GEU
#undef __WS_EXTREME
#undef __WS_OPERATORS
#undef __WS_BY_FLOAT
#undef __WS_NARROW_MEMORY
#undef __WS_NARROW_STORE
#undef __WS_NARROW_SHUFFLE
