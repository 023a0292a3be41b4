// Helpers shared by the 16-bit float types.
#pragma once

// The larger and the smaller of two numbers or pairs of numbers; NaN if either is NaN.
#if __has_builtin(__builtin_elementwise_maximum)
template <typename __ws_type>
__WS_BOTH __ws_type __ws_maximum(__ws_type a, __ws_type b) {
  return __builtin_elementwise_maximum(a, b);
}
template <typename __ws_type>
__WS_BOTH __ws_type __ws_minimum(__ws_type a, __ws_type b) {
  return __builtin_elementwise_minimum(a, b);
}
#else
// clang 19 has no such builtin.
template <typename __ws_type>
__WS_BOTH __ws_type __ws_prefer_nan(__ws_type a, __ws_type b, __ws_type otherwise) {
  if constexpr (sizeof(__ws_type) == 4) {
    return __ws_type{__ws_prefer_nan(a[0], b[0], otherwise[0]), __ws_prefer_nan(a[1], b[1], otherwise[1])};
  } else {
    return a != a || b != b ? __builtin_bit_cast(__ws_type, (unsigned short)0x7fff) : otherwise;
  }
}
template <typename __ws_type>
__WS_BOTH __ws_type __ws_maximum(__ws_type a, __ws_type b) {
  return __ws_prefer_nan(a, b, __builtin_elementwise_max(a, b));
}
template <typename __ws_type>
__WS_BOTH __ws_type __ws_minimum(__ws_type a, __ws_type b) {
  return __ws_prefer_nan(a, b, __builtin_elementwise_min(a, b));
}
#endif

// Clamps to [0, 1]; NaN becomes +0, as .sat does.
template <typename __ws_type>
__WS_BOTH __ws_type __ws_saturate_narrow(__ws_type v) {
  return __builtin_elementwise_min(__builtin_elementwise_max(v, (__ws_type)0.0f), (__ws_type)1.0f);
}

__WS_BOTH float __ws_truncate_to_float(int i) { return __int2float_rz(i); }
__WS_BOTH float __ws_truncate_to_float(unsigned int i) { return __uint2float_rz(i); }
__WS_BOTH float __ws_truncate_to_float(long long i) { return __ll2float_rz(i); }
__WS_BOTH float __ws_truncate_to_float(unsigned long long i) { return __ull2float_rz(i); }
// A truncated float is within the integer's range, so the conversion back is exact.
__WS_BOTH bool __ws_same_value(float f, int i) { return __nvvm_f2i_rz(f) == i; }
__WS_BOTH bool __ws_same_value(float f, unsigned int i) { return __nvvm_f2ui_rz(f) == i; }
__WS_BOTH bool __ws_same_value(float f, long long i) { return __nvvm_f2ll_rz(f) == i; }
__WS_BOTH bool __ws_same_value(float f, unsigned long long i) { return __nvvm_f2ull_rz(f) == i; }

// Integer to float, rounded to odd: rounding the result again to a narrower type gives what one rounding would.
template <typename __ws_integer>
__WS_BOTH float __ws_integer_to_float_odd(__ws_integer i) {
  const float truncated = __ws_truncate_to_float(i);
  if (__ws_same_value(truncated, i)) return truncated;
  return __builtin_bit_cast(float, __builtin_bit_cast(unsigned int, truncated) | 1u);
}
