// cooperative_groups::inclusive_scan and exclusive_scan.
#pragma once
#include "reduce.h"

namespace cooperative_groups {
template <class group, class type, class operation>
__device__ __forceinline__ type inclusive_scan(const group& g, type value, operation combine) {
  const unsigned int rank = (unsigned int)g.thread_rank();
  for (unsigned int delta = 1; delta < g.size(); delta *= 2) {
    const type before = g.shfl_up(value, delta);
    if (rank >= delta) value = combine(before, value);
  }
  return value;
}
template <class group, class type>
__device__ __forceinline__ type inclusive_scan(const group& g, type value) {
  return inclusive_scan(g, value, plus<type>());
}
// The first thread gets type(): CUDA leaves its value undefined where the operation is not a sum.
template <class group, class type, class operation>
__device__ __forceinline__ type exclusive_scan(const group& g, type value, operation combine) {
  const type before = g.shfl_up(inclusive_scan(g, value, combine), 1);
  return g.thread_rank() == 0 ? type() : before;
}
template <class group, class type>
__device__ __forceinline__ type exclusive_scan(const group& g, type value) {
  return exclusive_scan(g, value, plus<type>());
}
}  // namespace cooperative_groups
