// C++ overloads: the plain names take float as well, and integers are promoted to double, as <cmath> says.
#pragma once

template <bool condition, class type>
struct __ws_enable {};
template <class type>
struct __ws_enable<true, type> {
  using result = type;
};
template <class type>
using __ws_if_integer = typename __ws_enable<__is_integral(type), double>::result;
// Two arithmetic arguments of different types meet in double.
template <class left, class right>
using __ws_if_mixed =
    typename __ws_enable<__is_arithmetic(left) && __is_arithmetic(right) && !__is_same(left, right), double>::result;

#define __WS_INTEGER_OVERLOAD(name)                                        \
  template <class __ws_integer>                                            \
  __WS_DEVICE __ws_if_integer<__ws_integer> name(__ws_integer x) {         \
    return name((double)x);                                                \
  }
#define __WS_FLOAT_OVERLOAD(name)                                          \
  __WS_DEVICE float name(float x) { return name##f(x); }                   \
  __WS_INTEGER_OVERLOAD(name)
__WS_FLOAT_OVERLOAD(rsqrt)
__WS_FLOAT_OVERLOAD(cbrt)
__WS_FLOAT_OVERLOAD(rcbrt)
__WS_FLOAT_OVERLOAD(exp)
__WS_FLOAT_OVERLOAD(exp2)
__WS_FLOAT_OVERLOAD(exp10)
__WS_FLOAT_OVERLOAD(expm1)
__WS_FLOAT_OVERLOAD(log)
__WS_FLOAT_OVERLOAD(log2)
__WS_FLOAT_OVERLOAD(log10)
__WS_FLOAT_OVERLOAD(log1p)
__WS_FLOAT_OVERLOAD(sin)
__WS_FLOAT_OVERLOAD(cos)
__WS_FLOAT_OVERLOAD(tan)
__WS_FLOAT_OVERLOAD(sinpi)
__WS_FLOAT_OVERLOAD(cospi)
__WS_FLOAT_OVERLOAD(asin)
__WS_FLOAT_OVERLOAD(acos)
__WS_FLOAT_OVERLOAD(atan)
__WS_FLOAT_OVERLOAD(sinh)
__WS_FLOAT_OVERLOAD(cosh)
__WS_FLOAT_OVERLOAD(tanh)
__WS_FLOAT_OVERLOAD(asinh)
__WS_FLOAT_OVERLOAD(acosh)
__WS_FLOAT_OVERLOAD(atanh)
__WS_FLOAT_OVERLOAD(erf)
__WS_FLOAT_OVERLOAD(erfc)
__WS_FLOAT_OVERLOAD(erfcx)
__WS_FLOAT_OVERLOAD(normcdf)
__WS_FLOAT_OVERLOAD(tgamma)
__WS_FLOAT_OVERLOAD(lgamma)
__WS_FLOAT_OVERLOAD(logb)
__WS_INTEGER_OVERLOAD(sqrt)
__WS_INTEGER_OVERLOAD(fabs)
__WS_INTEGER_OVERLOAD(floor)
__WS_INTEGER_OVERLOAD(ceil)
__WS_INTEGER_OVERLOAD(round)
__WS_INTEGER_OVERLOAD(trunc)
#undef __WS_FLOAT_OVERLOAD
#undef __WS_INTEGER_OVERLOAD
__WS_BOTH float erfinv(float x) { return erfinvf(x); }

#define __WS_MIXED_OVERLOAD(name)                                                        \
  template <class __ws_left, class __ws_right>                                           \
  __WS_BOTH __ws_if_mixed<__ws_left, __ws_right> name(__ws_left x, __ws_right y) {       \
    return name((double)x, (double)y);                                                   \
  }                                                                                      \
  template <class __ws_integer>                                                          \
  __WS_BOTH __ws_if_integer<__ws_integer> name(__ws_integer x, __ws_integer y) {         \
    return name((double)x, (double)y);                                                   \
  }
#define __WS_FLOAT_OVERLOAD_2(name)                                                      \
  __WS_BOTH float name(float x, float y) { return name##f(x, y); }                       \
  __WS_MIXED_OVERLOAD(name)
__WS_FLOAT_OVERLOAD_2(pow)
__WS_FLOAT_OVERLOAD_2(atan2)
__WS_FLOAT_OVERLOAD_2(hypot)
__WS_FLOAT_OVERLOAD_2(fmod)
__WS_FLOAT_OVERLOAD_2(remainder)
__WS_FLOAT_OVERLOAD_2(nextafter)
__WS_MIXED_OVERLOAD(fmin)
__WS_MIXED_OVERLOAD(fmax)
__WS_MIXED_OVERLOAD(copysign)
#undef __WS_FLOAT_OVERLOAD_2
#undef __WS_MIXED_OVERLOAD

__WS_BOTH float ldexp(float x, int exponent) { return ldexpf(x, exponent); }
__WS_BOTH float scalbn(float x, int n) { return scalbnf(x, n); }
__WS_BOTH float frexp(float x, int* exponent) { return frexpf(x, exponent); }
__WS_BOTH float modf(float x, float* integer) { return modff(x, integer); }
__WS_BOTH int ilogb(float x) { return ilogbf(x); }
__WS_DEVICE void sincos(float x, float* sine, float* cosine) { sincosf(x, sine, cosine); }
__WS_BOTH float remquo(float x, float y, int* quotient) { return remquof(x, y, quotient); }
