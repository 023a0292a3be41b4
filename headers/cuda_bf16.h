// __nv_bfloat16 and __nv_bfloat162: conversions, arithmetic, comparisons, functions.
#pragma once
#include "warpsmith/prelude.h"
#include "warpsmith/narrow_rounding.h"

enum __ws_direction { __ws_rz, __ws_rd, __ws_ru };
__WS_BOTH unsigned short __ws_float_to_bfloat16_directed(float f, __ws_direction direction) {
  const unsigned int bits = __builtin_bit_cast(unsigned int, f);
  if (f != f) return 0x7fffu;
  const bool negative = (bits >> 31) != 0;
  const bool inexact = (bits & 0xffffu) != 0;
  const bool away = inexact && (direction == __ws_rd ? negative : direction == __ws_ru && !negative);
  return (unsigned short)((bits >> 16) + (away ? 1u : 0u));
}

// sm_80 has only the fused multiply-add; the other operations are spelled with it, exactly. sm_90 has all.
#if __CUDA_ARCH__ >= 900
#define __WS_ADD(a, b) ((a) + (b))
#define __WS_SUB(a, b) ((a) - (b))
#define __WS_MUL(a, b) ((a) * (b))
#else
#define __WS_ADD(a, b) __builtin_elementwise_fma(a, (__typeof__(a))(__bf16)1.0f, b)
#define __WS_SUB(a, b) __builtin_elementwise_fma(b, (__typeof__(a))(__bf16)-1.0f, a)
#define __WS_MUL(a, b) __builtin_elementwise_fma(a, b, (__typeof__(a))(__bf16)-0.0f)
#endif

#define __WS_T __nv_bfloat16
#define __WS_T2 __nv_bfloat162
#define __WS_RAW __nv_bfloat16_raw
#define __WS_RAW2 __nv_bfloat162_raw
#define __WS_S bfloat16
#define __WS_P bfloat162
#define __WS_NATIVE __bf16
#define __WS_PACK_RN(high, low) __nvvm_ff2bf16x2_rn(high, low)
#define __WS_FMA(a, b, c) __builtin_elementwise_fma(a, b, c)
#define __WS_ROUND_TOWARDS(mode, f) __ws_float_to_bfloat16_directed(f, __ws_##mode)
#include "warpsmith/narrow_float.h"
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

typedef __nv_bfloat16 nv_bfloat16;
typedef __nv_bfloat162 nv_bfloat162;

#define CUDART_INF_BF16 __ushort_as_bfloat16((unsigned short)0x7F80U)
#define CUDART_NAN_BF16 __ushort_as_bfloat16((unsigned short)0x7FFFU)
#define CUDART_MAX_NORMAL_BF16 __ushort_as_bfloat16((unsigned short)0x7F7FU)
#define CUDART_MIN_DENORM_BF16 __ushort_as_bfloat16((unsigned short)0x0001U)
#define CUDART_ZERO_BF16 __ushort_as_bfloat16((unsigned short)0x0000U)
#define CUDART_NEG_ZERO_BF16 __ushort_as_bfloat16((unsigned short)0x8000U)
#define CUDART_ONE_BF16 __ushort_as_bfloat16((unsigned short)0x3F80U)
