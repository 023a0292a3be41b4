// threadIdx, blockIdx, blockDim, gridDim: properties that read the special registers and convert to uint3 or dim3.
#pragma once

#define __WS_INDEX_VARIABLE(type, value, register_)                                                       \
  struct type {                                                                                           \
    __declspec(property(get = __read_x)) unsigned int x;                                                  \
    __declspec(property(get = __read_y)) unsigned int y;                                                  \
    __declspec(property(get = __read_z)) unsigned int z;                                                  \
    static __device__ __forceinline__ unsigned int __read_x() { return __nvvm_read_ptx_sreg_##register_##_x(); } \
    static __device__ __forceinline__ unsigned int __read_y() { return __nvvm_read_ptx_sreg_##register_##_y(); } \
    static __device__ __forceinline__ unsigned int __read_z() { return __nvvm_read_ptx_sreg_##register_##_z(); } \
    __device__ __forceinline__ operator value() const { return value{__read_x(), __read_y(), __read_z()}; }      \
    type() = delete;                                                                                      \
    void operator=(const type&) = delete;                                                                 \
  };

__WS_INDEX_VARIABLE(__ws_thread_index, uint3, tid)
__WS_INDEX_VARIABLE(__ws_block_index, uint3, ctaid)
__WS_INDEX_VARIABLE(__ws_block_dimension, dim3, ntid)
__WS_INDEX_VARIABLE(__ws_grid_dimension, dim3, nctaid)

// Declared, never defined or read: only their properties are used.
extern const __device__ __attribute__((weak)) __ws_thread_index threadIdx;
extern const __device__ __attribute__((weak)) __ws_block_index blockIdx;
extern const __device__ __attribute__((weak)) __ws_block_dimension blockDim;
extern const __device__ __attribute__((weak)) __ws_grid_dimension gridDim;
static constexpr int warpSize = 32;
