// Single-precision functions.
#pragma once

__WS_BOTH float rsqrtf(float x) { return __WS_FTZ(rsqrt_approx)(x); }
__WS_BOTH float rsqrt(float x) { return rsqrtf(x); }
__WS_BOTH float exp2f(float x) { return __ws_exp2_approx(x); }
__WS_BOTH float expf(float x) {
#ifdef __USE_FAST_MATH__
  return __expf(x);
#else
  // x = (j + f) ln 2 with integer j kept in float's exponent range; what is left over goes to ex2, which over- and
  // underflows by itself, so that the one final product rounds subnormal results correctly.
  const float magic = 12582912.0f;  // 1.5 * 2^23: adding it leaves the integer part in the low bits.
  const float shifted = fminf(fmaxf(__nvvm_fma_rn_f(x, 1.44269504f, magic), magic - 126.0f), magic + 127.0f);
  const float j = __nvvm_add_rn_f(shifted, -magic);
  const float f = __nvvm_fma_rn_f(x, 1.925963033500e-8f, __nvvm_fma_rn_f(x, 1.44269504f, -j));
  const float scale = __builtin_bit_cast(float, (__builtin_bit_cast(int, shifted) << 23) + 0x3f800000);
  return __nvvm_ex2_approx_ftz_f(f) * scale;
#endif
}
float __device__ logf(float); float __device__ log2f(float); float __device__ log10f(float); float __device__ sinf(float);float __device__ cosf(float);float __device__ tanhf(float);
