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

// sm_90 adds in memory; before that a compare-and-swap loop on the containing word does, as in CUDA's own headers.
__WS_DEVICE unsigned int __ws_bfloat16_sum(unsigned int left, unsigned int right) {
  typedef __bf16 __ws_pair __attribute__((ext_vector_type(2)));
  const __ws_pair a = __builtin_bit_cast(__ws_pair, left), b = __builtin_bit_cast(__ws_pair, right);
  return __builtin_bit_cast(unsigned int, (__ws_pair)__WS_ADD(a, b));
}
__WS_DEVICE unsigned int __ws_atomic_add_bfloat162(unsigned int* address, unsigned int value) {
#if __CUDA_ARCH__ >= 900
  unsigned int before;
  asm volatile("atom.add.noftz.bf16x2 %0, [%1], %2;" : "=r"(before) : "l"(address), "r"(value) : "memory");
  return before;
#else
  unsigned int before = *(volatile unsigned int*)address, seen;
  do {
    seen = before;
    before = atomicCAS(address, seen, __ws_bfloat16_sum(seen, value));
  } while (before != seen);
  return before;
#endif
}
__WS_DEVICE unsigned short __ws_atomic_add_bfloat16(unsigned short* address, unsigned short value) {
#if __CUDA_ARCH__ >= 900
  unsigned short before;
  asm volatile("atom.add.noftz.bf16 %0, [%1], %2;" : "=h"(before) : "l"(address), "h"(value) : "memory");
  return before;
#else
  unsigned short before = *(volatile unsigned short*)address, seen;
  do {
    seen = before;
    before = atomicCAS(address, seen, (unsigned short)__ws_bfloat16_sum(seen, value));
  } while (before != seen);
  return before;
#endif
}

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
#define __WS_FROM_INTEGER_RN(i) __ws_integer_to_float_odd(i)
#define __WS_EXACT_INTEGER(v) (double)v
#define __WS_NARROW_APPROX(name) __nvvm_##name##_f
#define __WS_NARROW_RECIPROCAL(x) __nvvm_rcp_rn_f(x)
#define __WS_ATOMIC_ADD_SCALAR(address, bits) __ws_atomic_add_bfloat16(address, bits)
#define __WS_ATOMIC_ADD_PAIR(address, bits) __ws_atomic_add_bfloat162(address, bits)
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

typedef __nv_bfloat16 nv_bfloat16;
typedef __nv_bfloat162 nv_bfloat162;

#define CUDART_INF_BF16 __ushort_as_bfloat16((unsigned short)0x7F80U)
#define CUDART_NAN_BF16 __ushort_as_bfloat16((unsigned short)0x7FFFU)
#define CUDART_MAX_NORMAL_BF16 __ushort_as_bfloat16((unsigned short)0x7F7FU)
#define CUDART_MIN_DENORM_BF16 __ushort_as_bfloat16((unsigned short)0x0001U)
#define CUDART_ZERO_BF16 __ushort_as_bfloat16((unsigned short)0x0000U)
#define CUDART_NEG_ZERO_BF16 __ushort_as_bfloat16((unsigned short)0x8000U)
#define CUDART_ONE_BF16 __ushort_as_bfloat16((unsigned short)0x3F80U)
