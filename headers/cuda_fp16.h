// half and half2: conversions, arithmetic, comparisons, functions.
#pragma once
#include "warpsmith/prelude.h"
#include "warpsmith/narrow_rounding.h"

#define __WS_FLOAT_TO_HALF(name, mode)                          \
  __WS_DEVICE unsigned short name(float f) {                    \
    unsigned short bits;                                        \
    asm("cvt." mode ".f16.f32 %0, %1;" : "=h"(bits) : "f"(f));  \
    return bits;                                                \
  }
__WS_FLOAT_TO_HALF(__ws_float_to_half_rz, "rz")
__WS_FLOAT_TO_HALF(__ws_float_to_half_rd, "rm")
__WS_FLOAT_TO_HALF(__ws_float_to_half_ru, "rp")
#undef __WS_FLOAT_TO_HALF

__WS_DEVICE unsigned short __ws_atomic_add_half(unsigned short* address, unsigned short value) {
  unsigned short before;
  asm volatile("atom.add.noftz.f16 %0, [%1], %2;" : "=h"(before) : "l"(address), "h"(value) : "memory");
  return before;
}
__WS_DEVICE unsigned int __ws_atomic_add_half2(unsigned int* address, unsigned int value) {
  unsigned int before;
  asm volatile("atom.add.noftz.f16x2 %0, [%1], %2;" : "=r"(before) : "l"(address), "r"(value) : "memory");
  return before;
}

#define __WS_T __half
#define __WS_T2 __half2
#define __WS_RAW __half_raw
#define __WS_RAW2 __half2_raw
#define __WS_S half
#define __WS_P half2
#define __WS_NATIVE _Float16
#define __WS_PACK_RN(high, low) __nvvm_ff2f16x2_rn(high, low)
#define __WS_ADD(a, b) ((a) + (b))
#define __WS_SUB(a, b) ((a) - (b))
#define __WS_MUL(a, b) ((a) * (b))
#define __WS_FMA(a, b, c) __builtin_elementwise_fma(a, b, c)
#define __WS_ROUND_TOWARDS(mode, f) __ws_float_to_half_##mode(f)
// Integers too large for one rounding overflow anyway.
#define __WS_FROM_INTEGER_RN(i) i
#define __WS_EXACT_INTEGER(v) v
#define __WS_NARROW_APPROX(name) __nvvm_##name##_ftz_f
#define __WS_NARROW_RECIPROCAL(x) __nvvm_rcp_approx_ftz_f(x)
#define __WS_ATOMIC_ADD_SCALAR(address, bits) __ws_atomic_add_half(address, bits)
#define __WS_ATOMIC_ADD_PAIR(address, bits) __ws_atomic_add_half2(address, bits)
#include "warpsmith/narrow_float.h"
#undef __WS_FROM_INTEGER_RN
#undef __WS_EXACT_INTEGER
#undef __WS_NARROW_APPROX
#undef __WS_NARROW_RECIPROCAL
#undef __WS_ATOMIC_ADD_SCALAR
#undef __WS_ATOMIC_ADD_PAIR
#undef __WS_T
#undef __WS_T2
#undef __WS_RAW
#undef __WS_RAW2
#undef __WS_S
#undef __WS_P
#undef __WS_NATIVE
#undef __WS_PACK_RN
#undef __WS_ADD
#undef __WS_SUB
#undef __WS_MUL
#undef __WS_FMA
#undef __WS_ROUND_TOWARDS

typedef __half half;
typedef __half2 half2;
typedef __half nv_half;
typedef __half2 nv_half2;
typedef __half __nv_half;

#define CUDART_INF_FP16 __ushort_as_half((unsigned short)0x7C00U)
#define CUDART_NAN_FP16 __ushort_as_half((unsigned short)0x7FFFU)
#define CUDART_MAX_NORMAL_FP16 __ushort_as_half((unsigned short)0x7BFFU)
#define CUDART_MIN_DENORM_FP16 __ushort_as_half((unsigned short)0x0001U)
#define CUDART_ZERO_FP16 __ushort_as_half((unsigned short)0x0000U)
#define CUDART_NEG_ZERO_FP16 __ushort_as_half((unsigned short)0x8000U)
#define CUDART_ONE_FP16 __ushort_as_half((unsigned short)0x3C00U)
