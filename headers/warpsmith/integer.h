// Integer intrinsics.
#pragma once

// --- Bits -----------------------------------------------------------------------------------------------------------
__WS_BOTH int __popc(unsigned int x) { return __builtin_popcount(x); }
__WS_BOTH int __popcll(unsigned long long x) { return __builtin_popcountll(x); }
// Defined for 0, unlike clang's builtins: 32 and 64 leading zeros.
__WS_BOTH int __clz(int x) { return x == 0 ? 32 : __builtin_clz((unsigned int)x); }
__WS_BOTH int __clzll(long long x) { return x == 0 ? 64 : __builtin_clzll((unsigned long long)x); }
__WS_BOTH int __ffs(int x) { return __builtin_ffs(x); }
__WS_BOTH int __ffsll(long long x) { return __builtin_ffsll(x); }
__WS_BOTH unsigned int __brev(unsigned int x) { return __builtin_bitreverse32(x); }
__WS_BOTH unsigned long long __brevll(unsigned long long x) { return __builtin_bitreverse64(x); }
__WS_BOTH unsigned int __byte_perm(unsigned int x, unsigned int y, unsigned int selector) {
  // prmt's selectors have a sign-replication bit that CUDA's function does not offer.
  return (unsigned int)__nvvm_prmt(x, y, selector & 0x7777u);
}
__WS_BOTH unsigned int __fns(unsigned int mask, unsigned int base, int offset) { return __nvvm_fns(mask, base, offset); }

// The pair high:low shifted; the wrapping forms take the amount modulo 32, the clamping ones at most 32.
#define __WS_FUNNEL_SHIFT(name, instruction)                                                           \
  __WS_DEVICE unsigned int name(unsigned int low, unsigned int high, unsigned int shift) {             \
    unsigned int result;                                                                               \
    asm(instruction " %0, %1, %2, %3;" : "=r"(result) : "r"(low), "r"(high), "r"(shift));              \
    return result;                                                                                     \
  }
__WS_FUNNEL_SHIFT(__funnelshift_l, "shf.l.wrap.b32")
__WS_FUNNEL_SHIFT(__funnelshift_r, "shf.r.wrap.b32")
__WS_FUNNEL_SHIFT(__funnelshift_lc, "shf.l.clamp.b32")
__WS_FUNNEL_SHIFT(__funnelshift_rc, "shf.r.clamp.b32")
#undef __WS_FUNNEL_SHIFT

// --- Products and averages ------------------------------------------------------------------------------------------
__WS_BOTH int __mulhi(int x, int y) { return __nvvm_mulhi_i(x, y); }
__WS_BOTH unsigned int __umulhi(unsigned int x, unsigned int y) { return __nvvm_mulhi_ui(x, y); }
__WS_BOTH long long __mul64hi(long long x, long long y) { return __nvvm_mulhi_ll(x, y); }
__WS_BOTH unsigned long long __umul64hi(unsigned long long x, unsigned long long y) { return __nvvm_mulhi_ull(x, y); }
__WS_BOTH int __mul24(int x, int y) { return __nvvm_mul24_i(x, y); }
__WS_BOTH unsigned int __umul24(unsigned int x, unsigned int y) { return __nvvm_mul24_ui(x, y); }
__WS_BOTH int mul24(int x, int y) { return __mul24(x, y); }
__WS_BOTH unsigned int umul24(unsigned int x, unsigned int y) { return __umul24(x, y); }
__WS_BOTH unsigned int __sad(int x, int y, unsigned int z) { return (unsigned int)__nvvm_sad_i(x, y, (int)z); }
__WS_BOTH unsigned int __usad(unsigned int x, unsigned int y, unsigned int z) { return __nvvm_sad_ui(x, y, z); }
// Averages without overflow; the r forms round up.
__WS_BOTH int __hadd(int x, int y) { return (x & y) + ((x ^ y) >> 1); }
__WS_BOTH int __rhadd(int x, int y) { return (x | y) - ((x ^ y) >> 1); }
__WS_BOTH unsigned int __uhadd(unsigned int x, unsigned int y) { return (x & y) + ((x ^ y) >> 1); }
__WS_BOTH unsigned int __urhadd(unsigned int x, unsigned int y) { return (x | y) - ((x ^ y) >> 1); }

// Dot products of packed bytes (dp4a), or of two 16-bit values with the low or high two bytes (dp2a).
#define __WS_DOT(name, instruction, result, left, right)                                             \
  __WS_DEVICE result name(left a, right b, result c) {                                               \
    result d;                                                                                        \
    asm(instruction " %0, %1, %2, %3;" : "=r"(d) : "r"(a), "r"(b), "r"(c));                          \
    return d;                                                                                        \
  }
__WS_DOT(__dp4a, "dp4a.s32.s32", int, int, int)
__WS_DOT(__dp4a, "dp4a.u32.u32", unsigned int, unsigned int, unsigned int)
__WS_DOT(__dp2a_lo, "dp2a.lo.s32.s32", int, int, int)
__WS_DOT(__dp2a_lo, "dp2a.lo.u32.u32", unsigned int, unsigned int, unsigned int)
__WS_DOT(__dp2a_hi, "dp2a.hi.s32.s32", int, int, int)
__WS_DOT(__dp2a_hi, "dp2a.hi.u32.u32", unsigned int, unsigned int, unsigned int)
#undef __WS_DOT
__WS_DEVICE int __dp4a(char4 a, char4 b, int c) {
  return __dp4a(__builtin_bit_cast(int, a), __builtin_bit_cast(int, b), c);
}
__WS_DEVICE unsigned int __dp4a(uchar4 a, uchar4 b, unsigned int c) {
  return __dp4a(__builtin_bit_cast(unsigned int, a), __builtin_bit_cast(unsigned int, b), c);
}

// --- Packed bytes and halfwords -------------------------------------------------------------------------------------
typedef signed char __ws_s8x4 __attribute__((ext_vector_type(4)));
typedef unsigned char __ws_u8x4 __attribute__((ext_vector_type(4)));
typedef short __ws_s16x2 __attribute__((ext_vector_type(2)));
typedef unsigned short __ws_u16x2 __attribute__((ext_vector_type(2)));

#define __WS_PACKED(name, vector, expression)                                             \
  __WS_BOTH unsigned int name(unsigned int x, unsigned int y) {                           \
    const vector a = __builtin_bit_cast(vector, x), b = __builtin_bit_cast(vector, y);    \
    return __builtin_bit_cast(unsigned int, (vector)(expression));                        \
  }
#define __WS_PACKED_WIDTH(width, signed_, unsigned_)                                      \
  __WS_PACKED(__vadd##width, unsigned_, a + b)                                            \
  __WS_PACKED(__vsub##width, unsigned_, a - b)                                            \
  __WS_PACKED(__vaddss##width, signed_, __builtin_elementwise_add_sat(a, b))              \
  __WS_PACKED(__vaddus##width, unsigned_, __builtin_elementwise_add_sat(a, b))            \
  __WS_PACKED(__vsubss##width, signed_, __builtin_elementwise_sub_sat(a, b))              \
  __WS_PACKED(__vsubus##width, unsigned_, __builtin_elementwise_sub_sat(a, b))            \
  __WS_PACKED(__vmins##width, signed_, __builtin_elementwise_min(a, b))                   \
  __WS_PACKED(__vmaxs##width, signed_, __builtin_elementwise_max(a, b))                   \
  __WS_PACKED(__vminu##width, unsigned_, __builtin_elementwise_min(a, b))                 \
  __WS_PACKED(__vmaxu##width, unsigned_, __builtin_elementwise_max(a, b))                 \
  __WS_PACKED(__vabsdiffu##width, unsigned_, __builtin_elementwise_max(a, b) - __builtin_elementwise_min(a, b)) \
  __WS_PACKED(__vcmpeq##width, unsigned_, a == b)                                         \
  __WS_PACKED(__vcmpne##width, unsigned_, a != b)                                         \
  __WS_PACKED(__vcmpgtu##width, unsigned_, a > b)                                         \
  __WS_PACKED(__vcmpgts##width, signed_, a > b)                                           \
  __WS_PACKED(__vcmpltu##width, unsigned_, a < b)                                         \
  __WS_PACKED(__vcmplts##width, signed_, a < b)
__WS_PACKED_WIDTH(2, __ws_s16x2, __ws_u16x2)
__WS_PACKED_WIDTH(4, __ws_s8x4, __ws_u8x4)
#undef __WS_PACKED_WIDTH
#undef __WS_PACKED
__WS_BOTH unsigned int __vneg2(unsigned int x) { return __vsub2(0, x); }
__WS_BOTH unsigned int __vneg4(unsigned int x) { return __vsub4(0, x); }
__WS_BOTH unsigned int __vabs2(unsigned int x) { return __vmaxs2(x, __vneg2(x)); }
__WS_BOTH unsigned int __vabs4(unsigned int x) { return __vmaxs4(x, __vneg4(x)); }
