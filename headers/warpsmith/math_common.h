// min/max/abs over all arithmetic types, rounding, classification: what one or a few instructions give exactly.
#pragma once

// Names ending in f take float, the plain ones double; the plain name also takes float, as in C++.
#define __WS_UNARY(name)                                                       \
  __WS_BOTH float name##f(float x) { return __builtin_##name##f(x); }          \
  __WS_BOTH double name(double x) { return __builtin_##name(x); }              \
  __WS_BOTH float name(float x) { return __builtin_##name##f(x); }
__WS_UNARY(fabs)
__WS_UNARY(floor)
__WS_UNARY(ceil)
__WS_UNARY(trunc)
__WS_UNARY(rint)
__WS_UNARY(nearbyint)
__WS_UNARY(sqrt)
#undef __WS_UNARY

#define __WS_BINARY(name)                                                                \
  __WS_BOTH float name##f(float x, float y) { return __builtin_##name##f(x, y); }        \
  __WS_BOTH double name(double x, double y) { return __builtin_##name(x, y); }           \
  __WS_BOTH float name(float x, float y) { return __builtin_##name##f(x, y); }
__WS_BINARY(fmin)
__WS_BINARY(fmax)
__WS_BINARY(copysign)
#undef __WS_BINARY

__WS_BOTH float fmaf(float x, float y, float z) { return __builtin_fmaf(x, y, z); }
__WS_BOTH double fma(double x, double y, double z) { return __builtin_fma(x, y, z); }
__WS_BOTH float fma(float x, float y, float z) { return __builtin_fmaf(x, y, z); }
__WS_BOTH float fdividef(float x, float y) { return x / y; }
// NaN and differing infinities come out of the subtraction.
__WS_BOTH float fdimf(float x, float y) { return x <= y ? 0.0f : x - y; }
__WS_BOTH double fdim(double x, double y) { return x <= y ? 0.0 : x - y; }
__WS_BOTH float fdim(float x, float y) { return fdimf(x, y); }

// Halfway cases away from zero. 0.49999997 + 0.5 would round up to 1, hence the number just below a half.
__WS_BOTH float roundf(float x) {
  const float rounded = truncf(x + copysignf(0x1.fffffep-2f, x));
  return fabsf(x) < 0x1p23f ? copysignf(rounded, x) : x;
}
__WS_BOTH double round(double x) {
  const double rounded = trunc(x + copysign(0x1.fffffffffffffp-2, x));
  return fabs(x) < 0x1p52 ? copysign(rounded, x) : x;
}
__WS_BOTH float round(float x) { return roundf(x); }

__WS_BOTH long lrintf(float x) { return (long)__nvvm_f2ll_rn(x); }
__WS_BOTH long lrint(double x) { return (long)__nvvm_d2ll_rn(x); }
__WS_BOTH long long llrintf(float x) { return __nvvm_f2ll_rn(x); }
__WS_BOTH long long llrint(double x) { return __nvvm_d2ll_rn(x); }
__WS_BOTH long lroundf(float x) { return (long)__nvvm_f2ll_rz(roundf(x)); }
__WS_BOTH long lround(double x) { return (long)__nvvm_d2ll_rz(round(x)); }
__WS_BOTH long long llroundf(float x) { return __nvvm_f2ll_rz(roundf(x)); }
__WS_BOTH long long llround(double x) { return __nvvm_d2ll_rz(round(x)); }

// --- Classification -------------------------------------------------------------------------------------------------
#define __WS_CLASSIFY(type, fabs_, infinity)                                          \
  __WS_BOTH bool isnan(type x) { return x != x; }                                     \
  __WS_BOTH bool isinf(type x) { return fabs_(x) == infinity; }                       \
  __WS_BOTH bool isfinite(type x) { return fabs_(x) < infinity; }                     \
  __WS_BOTH bool signbit(type x) { return __builtin_signbit(x) != 0; }                \
  __WS_BOTH bool isunordered(type x, type y) { return x != x || y != y; }             \
  __WS_BOTH bool isless(type x, type y) { return x < y; }                             \
  __WS_BOTH bool islessequal(type x, type y) { return x <= y; }                       \
  __WS_BOTH bool isgreater(type x, type y) { return x > y; }                          \
  __WS_BOTH bool isgreaterequal(type x, type y) { return x >= y; }                    \
  __WS_BOTH bool islessgreater(type x, type y) { return x < y || x > y; }
__WS_CLASSIFY(float, __builtin_fabsf, __builtin_inff())
__WS_CLASSIFY(double, __builtin_fabs, __builtin_inf())
#undef __WS_CLASSIFY
__WS_BOTH bool isnormal(float x) { return __builtin_fabsf(x) >= 0x1p-126f && isfinite(x); }
__WS_BOTH bool isnormal(double x) { return __builtin_fabs(x) >= 0x1p-1022 && isfinite(x); }
__WS_BOTH int __isnanf(float x) { return isnan(x); }
__WS_BOTH int __isinff(float x) { return isinf(x); }
__WS_BOTH int __finitef(float x) { return isfinite(x); }
__WS_BOTH float nanf(const char*) { return NAN; }
__WS_BOTH double nan(const char*) { return __builtin_nan(""); }

// --- abs, min, max --------------------------------------------------------------------------------------------------
__WS_CONSTEXPR int abs(int x) { return x < 0 ? -x : x; }
__WS_CONSTEXPR long abs(long x) { return x < 0 ? -x : x; }
__WS_CONSTEXPR long long abs(long long x) { return x < 0 ? -x : x; }
__WS_BOTH float abs(float x) { return __builtin_fabsf(x); }
__WS_BOTH double abs(double x) { return __builtin_fabs(x); }
__WS_CONSTEXPR long labs(long x) { return abs(x); }
__WS_CONSTEXPR long long llabs(long long x) { return abs(x); }

// Mixed signedness converts to the unsigned type, as CUDA's overloads do.
#define __WS_MIN_MAX(result, left, right)                                                                    \
  __WS_CONSTEXPR result min(left a, right b) { return (result)a < (result)b ? (result)a : (result)b; }       \
  __WS_CONSTEXPR result max(left a, right b) { return (result)a > (result)b ? (result)a : (result)b; }
#define __WS_MIN_MAX_SIGNS(signed_, unsigned_)        \
  __WS_MIN_MAX(signed_, signed_, signed_)             \
  __WS_MIN_MAX(unsigned_, unsigned_, unsigned_)       \
  __WS_MIN_MAX(unsigned_, signed_, unsigned_)         \
  __WS_MIN_MAX(unsigned_, unsigned_, signed_)
__WS_MIN_MAX_SIGNS(int, unsigned int)
__WS_MIN_MAX_SIGNS(long, unsigned long)
__WS_MIN_MAX_SIGNS(long long, unsigned long long)
#undef __WS_MIN_MAX_SIGNS
#undef __WS_MIN_MAX
__WS_BOTH float min(float a, float b) { return __builtin_fminf(a, b); }
__WS_BOTH float max(float a, float b) { return __builtin_fmaxf(a, b); }
__WS_BOTH double min(double a, double b) { return __builtin_fmin(a, b); }
__WS_BOTH double max(double a, double b) { return __builtin_fmax(a, b); }
__WS_BOTH double min(float a, double b) { return __builtin_fmin(a, b); }
__WS_BOTH double max(float a, double b) { return __builtin_fmax(a, b); }
__WS_BOTH double min(double a, float b) { return __builtin_fmin(a, b); }
__WS_BOTH double max(double a, float b) { return __builtin_fmax(a, b); }
__WS_BOTH int imin(int a, int b) { return min(a, b); }
__WS_BOTH int imax(int a, int b) { return max(a, b); }
__WS_BOTH unsigned int umin(unsigned int a, unsigned int b) { return min(a, b); }
__WS_BOTH unsigned int umax(unsigned int a, unsigned int b) { return max(a, b); }
__WS_BOTH long long llmin(long long a, long long b) { return min(a, b); }
__WS_BOTH long long llmax(long long a, long long b) { return max(a, b); }
__WS_BOTH unsigned long long ullmin(unsigned long long a, unsigned long long b) { return min(a, b); }
__WS_BOTH unsigned long long ullmax(unsigned long long a, unsigned long long b) { return max(a, b); }
