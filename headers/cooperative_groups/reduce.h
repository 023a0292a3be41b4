// cooperative_groups::reduce and the operations it takes.
#pragma once
#include "../cooperative_groups.h"

namespace cooperative_groups {
template <class type = void>
struct plus {
  __device__ __forceinline__ type operator()(const type& a, const type& b) const { return a + b; }
};
template <class type = void>
struct less {
  __device__ __forceinline__ type operator()(const type& a, const type& b) const { return b < a ? b : a; }
};
template <class type = void>
struct greater {
  __device__ __forceinline__ type operator()(const type& a, const type& b) const { return a < b ? b : a; }
};
template <class type = void>
struct bit_and {
  __device__ __forceinline__ type operator()(const type& a, const type& b) const { return a & b; }
};
template <class type = void>
struct bit_or {
  __device__ __forceinline__ type operator()(const type& a, const type& b) const { return a | b; }
};
template <class type = void>
struct bit_xor {
  __device__ __forceinline__ type operator()(const type& a, const type& b) const { return a ^ b; }
};

// Every thread of the tile gets the result.
template <unsigned int width, class parent, class type, class operation>
__device__ __forceinline__ type reduce(const thread_block_tile<width, parent>& tile, type value, operation combine) {
#pragma unroll
  for (unsigned int lanes = width / 2; lanes > 0; lanes /= 2) value = combine(value, tile.shfl_xor(value, (int)lanes));
  return value;
}
template <class type, class operation>
__device__ __forceinline__ type reduce(const coalesced_group& group, type value, operation combine) {
  type result = group.shfl(value, 0);
  for (unsigned int rank = 1; rank < group.size(); rank++) result = combine(result, group.shfl(value, (int)rank));
  return result;
}
}  // namespace cooperative_groups
