// Intrinsics that map to one or two instructions, with CUDA's names.
#pragma once

#define INFINITY __builtin_inff()
#define NAN __builtin_nanf("")
#define HUGE_VALF __builtin_inff()
#define HUGE_VAL __builtin_inf()

// With nvcc's -use_fast_math single-precision subnormals are flushed; the .ftz forms say so.
#ifdef __USE_FAST_MATH__
#define __WS_FTZ(name) __nvvm_##name##_ftz_f
#else
#define __WS_FTZ(name) __nvvm_##name##_f
#endif

__WS_BOTH float __ws_exp2_approx(float x) { return __WS_FTZ(ex2_approx)(x); }
__WS_BOTH float __ws_log2_approx(float x) { return __WS_FTZ(lg2_approx)(x); }

// Error bounds: ex2.approx 2 ulp, lg2.approx 2^-22 absolute near 1, sin/cos.approx 2^-20.5 in [-pi, pi] (PTX ISA).
__WS_BOTH float __exp2f(float x) { return __ws_exp2_approx(x); }
__WS_BOTH float __expf(float x) { return __ws_exp2_approx(x * 1.4426950408889634f); }
__WS_BOTH float __exp10f(float x) { return __ws_exp2_approx(x * 3.3219280948873623f); }
__WS_BOTH float __log2f(float x) { return __ws_log2_approx(x); }
__WS_BOTH float __logf(float x) { return __ws_log2_approx(x) * 0.69314718055994531f; }
__WS_BOTH float __log10f(float x) { return __ws_log2_approx(x) * 0.30102999566398120f; }
__WS_BOTH float __sinf(float x) { return __WS_FTZ(sin_approx)(x); }
__WS_BOTH float __cosf(float x) { return __WS_FTZ(cos_approx)(x); }
__WS_BOTH float __fdividef(float x, float y) { return __WS_FTZ(div_approx)(x, y); }
__WS_BOTH float __tanf(float x) { return __fdividef(__sinf(x), __cosf(x)); }
__WS_BOTH void __sincosf(float x, float* s, float* c) {
  *s = __sinf(x);
  *c = __cosf(x);
}
__WS_BOTH float __powf(float x, float y) { return __ws_exp2_approx(y * __ws_log2_approx(x)); }
__WS_BOTH float __saturatef(float x) { return __nvvm_saturate_f(x); }
__WS_BOTH float __tanhf(float x) {
  float result;
  asm("tanh.approx.f32 %0, %1;" : "=f"(result) : "f"(x));
  return result;
}

// CUDA says ru and rd where PTX says rp and rm.
#define __WS_ROUNDED(suffix, rounding)                                                                         \
  __WS_BOTH float __fadd_##suffix(float x, float y) { return __nvvm_add_##rounding##_f(x, y); }                \
  __WS_BOTH float __fsub_##suffix(float x, float y) { return __nvvm_add_##rounding##_f(x, -y); }               \
  __WS_BOTH float __fmul_##suffix(float x, float y) { return __nvvm_mul_##rounding##_f(x, y); }                \
  __WS_BOTH float __fmaf_##suffix(float x, float y, float z) { return __nvvm_fma_##rounding##_f(x, y, z); }    \
  __WS_BOTH float __fdiv_##suffix(float x, float y) { return __nvvm_div_##rounding##_f(x, y); }                \
  __WS_BOTH float __frcp_##suffix(float x) { return __nvvm_rcp_##rounding##_f(x); }                            \
  __WS_BOTH float __fsqrt_##suffix(float x) { return __nvvm_sqrt_##rounding##_f(x); }                          \
  __WS_BOTH double __dadd_##suffix(double x, double y) { return __nvvm_add_##rounding##_d(x, y); }             \
  __WS_BOTH double __dsub_##suffix(double x, double y) { return __nvvm_add_##rounding##_d(x, -y); }            \
  __WS_BOTH double __dmul_##suffix(double x, double y) { return __nvvm_mul_##rounding##_d(x, y); }             \
  __WS_BOTH double __fma_##suffix(double x, double y, double z) { return __nvvm_fma_##rounding##_d(x, y, z); } \
  __WS_BOTH double __ddiv_##suffix(double x, double y) { return __nvvm_div_##rounding##_d(x, y); }             \
  __WS_BOTH double __drcp_##suffix(double x) { return __nvvm_rcp_##rounding##_d(x); }                          \
  __WS_BOTH double __dsqrt_##suffix(double x) { return __nvvm_sqrt_##rounding##_d(x); }
__WS_ROUNDED(rn, rn)
__WS_ROUNDED(rz, rz)
__WS_ROUNDED(ru, rp)
__WS_ROUNDED(rd, rm)
