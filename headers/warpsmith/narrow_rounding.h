// Helpers shared by the 16-bit float types.
#pragma once

// Clamps to [0, 1]; NaN becomes +0, as .sat does.
template <typename __ws_type>
__WS_BOTH __ws_type __ws_saturate_narrow(__ws_type v) {
  return __builtin_elementwise_min(__builtin_elementwise_max(v, (__ws_type)0.0f), (__ws_type)1.0f);
}

__WS_BOTH float __ws_truncate_to_float(int i) { return __nvvm_i2f_rz(i); }
__WS_BOTH float __ws_truncate_to_float(unsigned int i) { return __nvvm_ui2f_rz(i); }
__WS_BOTH float __ws_truncate_to_float(long long i) { return __nvvm_ll2f_rz(i); }
__WS_BOTH float __ws_truncate_to_float(unsigned long long i) { return __nvvm_ull2f_rz(i); }
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
