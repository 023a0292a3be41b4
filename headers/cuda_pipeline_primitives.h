// Asynchronous copies from global to shared memory (cp.async) as CUDA's pipeline primitives.
#pragma once
#include "warpsmith/prelude.h"

// Copies 4, 8 or 16 bytes; the last `zero_fill` of them are written as zeros instead of being read.
__WS_DEVICE void __pipeline_memcpy_async(void* __restrict__ shared, const void* __restrict__ global, size_t size, size_t zero_fill = 0) {
  const unsigned int to = (unsigned int)__cvta_generic_to_shared(shared);
  const size_t from = __cvta_generic_to_global(global);
  const unsigned int read = (unsigned int)(size - zero_fill);
  switch (size) {
    case 16:
      asm volatile("cp.async.cg.shared.global [%0], [%1], 16, %2;" ::"r"(to), "l"(from), "r"(read) : "memory");
      break;
    case 8:
      asm volatile("cp.async.ca.shared.global [%0], [%1], 8, %2;" ::"r"(to), "l"(from), "r"(read) : "memory");
      break;
    case 4:
      asm volatile("cp.async.ca.shared.global [%0], [%1], 4, %2;" ::"r"(to), "l"(from), "r"(read) : "memory");
      break;
    default:
      __builtin_trap();
  }
}
__WS_DEVICE void __pipeline_commit() { asm volatile("cp.async.commit_group;" ::: "memory"); }
// Waits until at most `prior` of the latest groups are under way. A constant in practice: the instruction takes one.
__WS_DEVICE void __pipeline_wait_prior(size_t prior) {
  switch (prior) {
#define __WS_WAIT(n) \
  case n: asm volatile("cp.async.wait_group " #n ";" ::: "memory"); break;
    __WS_WAIT(0)
    __WS_WAIT(1)
    __WS_WAIT(2)
    __WS_WAIT(3)
    __WS_WAIT(4)
    __WS_WAIT(5)
    __WS_WAIT(6)
    __WS_WAIT(7)
#undef __WS_WAIT
    default: asm volatile("cp.async.wait_all;" ::: "memory");
  }
}
