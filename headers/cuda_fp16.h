// half and half2: conversions, arithmetic, comparisons, functions.
#pragma once
#include "warpsmith/prelude.h"
#include "warpsmith/narrow_rounding.h"

// Rounds a float to half in a direction: takes the nearest half and steps one unit back where that went too far.
enum __ws_direction { __ws_rz, __ws_rd, __ws_ru };
__WS_BOTH unsigned short __ws_float_to_half_directed(float f, __ws_direction direction) {
  const _Float16 nearest = (_Float16)f;
  const unsigned short bits = __builtin_bit_cast(unsigned short, nearest);
  const float back = (float)nearest;
  const bool too_high = back > f, too_low = back < f;
  const bool negative = (bits & 0x8000u) != 0;
  const bool down = direction == __ws_rd || (direction == __ws_rz && !(f < 0.0f));
  if (down && too_high) return negative ? (unsigned short)(bits + 1) : bits == 0 ? 0x8001u : (unsigned short)(bits - 1);
  if (!down && too_low) return bits == 0x8000u ? 0x0001u : negative ? (unsigned short)(bits - 1) : (unsigned short)(bits + 1);
  return bits;
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
#define __WS_ROUND_TOWARDS(mode, f) __ws_float_to_half_directed(f, __ws_##mode)
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
