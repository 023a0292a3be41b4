// cooperative_groups::memcpy_async: the group's threads share out 16-byte copies.
#pragma once
#include "../cooperative_groups.h"
#include "../cuda_pipeline_primitives.h"

namespace cooperative_groups {
template <class group, class type>
__device__ __forceinline__ void memcpy_async(const group& g, type* shared, const type* global, size_t bytes) {
  const size_t wide = bytes / 16;
  const bool aligned = (((size_t)shared | (size_t)global) & 15) == 0;
  const size_t first = aligned ? wide : 0;
  for (size_t i = g.thread_rank(); i < first; i += g.size()) {
    __pipeline_memcpy_async((char*)shared + 16 * i, (const char*)global + 16 * i, 16);
  }
  for (size_t i = 16 * first + g.thread_rank(); i < bytes; i += g.size()) ((char*)shared)[i] = ((const char*)global)[i];
  __pipeline_commit();
}
template <class group>
__device__ __forceinline__ void wait(const group& g) {
  __pipeline_wait_prior(0);
  g.sync();
}
template <unsigned int stages, class group>
__device__ __forceinline__ void wait_prior(const group& g) {
  __pipeline_wait_prior(stages);
  g.sync();
}
}  // namespace cooperative_groups
