// Helpers shared by the 16-bit float types.
#pragma once

// Clamps to [0, 1]; NaN becomes +0, as .sat does.
template <typename T>
__WS_BOTH T __ws_saturate_narrow(T v) {
  return __builtin_elementwise_min(__builtin_elementwise_max(v, (T)0.0f), (T)1.0f);
}

// Integer to float, rounded to odd: rounding the result again to a narrower type gives what one rounding would.
template <typename I>
__WS_BOTH float __ws_integer_to_float_odd(I i) {
  const double exact_or_truncated = (double)i;  // Exact up to 32 bits; 64-bit integers are beyond every narrow type's precision.
  const float truncated = __nvvm_d2f_rz(exact_or_truncated);
  if ((double)truncated == exact_or_truncated) return truncated;
  return __builtin_bit_cast(float, __builtin_bit_cast(unsigned int, truncated) | 1u);
}
