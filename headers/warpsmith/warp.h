// Barriers, shuffles, votes, matches and warp-wide reductions.
#pragma once

// __syncthreads() itself is known to clang.
__WS_DEVICE int __syncthreads_count(int predicate) { return __nvvm_bar0_popc(predicate); }
__WS_DEVICE int __syncthreads_and(int predicate) { return __nvvm_bar0_and(predicate); }
__WS_DEVICE int __syncthreads_or(int predicate) { return __nvvm_bar0_or(predicate); }
__WS_DEVICE void __syncwarp(unsigned int mask = 0xffffffffu) { __nvvm_bar_warp_sync(mask); }

__WS_DEVICE unsigned int __activemask() { return __nvvm_activemask(); }
__WS_DEVICE int __all_sync(unsigned int mask, int predicate) { return __nvvm_vote_all_sync(mask, predicate != 0); }
__WS_DEVICE int __any_sync(unsigned int mask, int predicate) { return __nvvm_vote_any_sync(mask, predicate != 0); }
__WS_DEVICE int __uni_sync(unsigned int mask, int predicate) { return __nvvm_vote_uni_sync(mask, predicate != 0); }
__WS_DEVICE unsigned int __ballot_sync(unsigned int mask, int predicate) {
  return __nvvm_vote_ballot_sync(mask, predicate != 0);
}

// Operand c of shfl.sync: segment mask in bits 8–12, clamp in bits 0–4 (PTX ISA, shfl.sync).
__WS_DEVICE int __ws_shfl_control(int width, int clamp) { return ((warpSize - width) << 8) | clamp; }

#define __WS_SHUFFLE_32(name, variant, argument, clamp)                                                    \
  __WS_DEVICE int name(unsigned int mask, int value, argument, int width = warpSize) {                     \
    return __nvvm_shfl_sync_##variant##_i32(mask, value, __ws_lane, __ws_shfl_control(width, clamp));      \
  }                                                                                                        \
  __WS_DEVICE float name(unsigned int mask, float value, argument, int width = warpSize) {                 \
    return __nvvm_shfl_sync_##variant##_f32(mask, value, __ws_lane, __ws_shfl_control(width, clamp));      \
  }                                                                                                        \
  __WS_DEVICE unsigned int name(unsigned int mask, unsigned int value, argument, int width = warpSize) {   \
    return (unsigned int)name(mask, (int)value, __ws_lane, width);                                         \
  }
// 64-bit values travel as two 32-bit halves.
#define __WS_SHUFFLE_64(name, type, argument)                                                              \
  __WS_DEVICE type name(unsigned int mask, type value, argument, int width = warpSize) {                   \
    int2 halves = __builtin_bit_cast(int2, value);                                                         \
    halves.x = name(mask, halves.x, __ws_lane, width);                                                     \
    halves.y = name(mask, halves.y, __ws_lane, width);                                                     \
    return __builtin_bit_cast(type, halves);                                                               \
  }
#define __WS_SHUFFLE(name, variant, argument, clamp)  \
  __WS_SHUFFLE_32(name, variant, argument, clamp)     \
  __WS_SHUFFLE_64(name, long, argument)               \
  __WS_SHUFFLE_64(name, unsigned long, argument)      \
  __WS_SHUFFLE_64(name, long long, argument)          \
  __WS_SHUFFLE_64(name, unsigned long long, argument) \
  __WS_SHUFFLE_64(name, double, argument)

__WS_SHUFFLE(__shfl_sync, idx, int __ws_lane, 0x1f)
__WS_SHUFFLE(__shfl_up_sync, up, unsigned int __ws_lane, 0)
__WS_SHUFFLE(__shfl_down_sync, down, unsigned int __ws_lane, 0x1f)
__WS_SHUFFLE(__shfl_xor_sync, bfly, int __ws_lane, 0x1f)

#define __WS_MATCH(type, bits, signedType)                                                                 \
  __WS_DEVICE unsigned int __match_any_sync(unsigned int mask, type value) {                               \
    return __nvvm_match_any_sync_i##bits(mask, __builtin_bit_cast(signedType, value));                     \
  }                                                                                                        \
  __WS_DEVICE unsigned int __match_all_sync(unsigned int mask, type value, int* predicate) {               \
    return __nvvm_match_all_sync_i##bits##p(mask, __builtin_bit_cast(signedType, value), predicate);       \
  }
__WS_MATCH(int, 32, int)
__WS_MATCH(unsigned int, 32, int)
__WS_MATCH(float, 32, int)
__WS_MATCH(long, 64, long long)
__WS_MATCH(unsigned long, 64, long long)
__WS_MATCH(long long, 64, long long)
__WS_MATCH(unsigned long long, 64, long long)
__WS_MATCH(double, 64, long long)

__WS_DEVICE int __reduce_add_sync(unsigned int mask, int value) { return __nvvm_redux_sync_add(value, mask); }
__WS_DEVICE int __reduce_min_sync(unsigned int mask, int value) { return __nvvm_redux_sync_min(value, mask); }
__WS_DEVICE int __reduce_max_sync(unsigned int mask, int value) { return __nvvm_redux_sync_max(value, mask); }
__WS_DEVICE unsigned int __reduce_add_sync(unsigned int mask, unsigned int value) {
  return (unsigned int)__nvvm_redux_sync_add((int)value, mask);
}
__WS_DEVICE unsigned int __reduce_min_sync(unsigned int mask, unsigned int value) {
  return __nvvm_redux_sync_umin(value, mask);
}
__WS_DEVICE unsigned int __reduce_max_sync(unsigned int mask, unsigned int value) {
  return __nvvm_redux_sync_umax(value, mask);
}
__WS_DEVICE unsigned int __reduce_and_sync(unsigned int mask, unsigned int value) {
  return (unsigned int)__nvvm_redux_sync_and((int)value, mask);
}
__WS_DEVICE unsigned int __reduce_or_sync(unsigned int mask, unsigned int value) {
  return (unsigned int)__nvvm_redux_sync_or((int)value, mask);
}
__WS_DEVICE unsigned int __reduce_xor_sync(unsigned int mask, unsigned int value) {
  return (unsigned int)__nvvm_redux_sync_xor((int)value, mask);
}
