// The pipeline primitives, and the thread-scoped pipeline object over them.
#pragma once
#include "cuda_pipeline_primitives.h"

namespace nvcuda {
namespace experimental {
class pipeline {
 public:
  __device__ __forceinline__ pipeline() : committed(0) {}
  __device__ __forceinline__ size_t commit() {
    __pipeline_commit();
    return committed++;
  }
  template <unsigned int prior>
  __device__ __forceinline__ void wait_prior() {
    __pipeline_wait_prior(prior);
  }
  __device__ __forceinline__ void wait(size_t stage) { __pipeline_wait_prior(committed - stage - 1); }

 private:
  size_t committed;
};
template <class type>
__device__ __forceinline__ void memcpy_async(type& to, const type& from, pipeline&) {
  __pipeline_memcpy_async(&to, &from, sizeof(type));
}
}  // namespace experimental
}  // namespace nvcuda
