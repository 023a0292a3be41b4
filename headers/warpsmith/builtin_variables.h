// threadIdx, blockIdx, blockDim, gridDim: properties that read the special registers; they convert to uint3 and dim3.
#pragma once

#define __WS_INDEX_VARIABLE(type, register_)                                                       \
  struct type {                                                                                           \
    __declspec(property(get = __read_x)) unsigned int x;                                                  \
    __declspec(property(get = __read_y)) unsigned int y;                                                  \
    __declspec(property(get = __read_z)) unsigned int z;                                                  \
    static __device__ __forceinline__ unsigned int __read_x() { return __nvvm_read_ptx_sreg_##register_##_x(); } \
    static __device__ __forceinline__ unsigned int __read_y() { return __nvvm_read_ptx_sreg_##register_##_y(); } \
    static __device__ __forceinline__ unsigned int __read_z() { return __nvvm_read_ptx_sreg_##register_##_z(); } \
    __device__ __forceinline__ operator uint3() const { return uint3{__read_x(), __read_y(), __read_z()}; }      \
    type() = delete;                                                                                      \
    void operator=(const type&) = delete;                                                                 \
  };                                                                                                      \
  __device__ __forceinline__ dim3::dim3(const type& v) : x(v.x), y(v.y), z(v.z) {}

__WS_INDEX_VARIABLE(__ws_thread_index, tid)
__WS_INDEX_VARIABLE(__ws_block_index, ctaid)
__WS_INDEX_VARIABLE(__ws_block_dimension, ntid)
__WS_INDEX_VARIABLE(__ws_grid_dimension, nctaid)

// Declared, never defined or read: only their properties are used.
extern const __device__ __attribute__((weak)) __ws_thread_index threadIdx;
extern const __device__ __attribute__((weak)) __ws_block_index blockIdx;
extern const __device__ __attribute__((weak)) __ws_block_dimension blockDim;
extern const __device__ __attribute__((weak)) __ws_grid_dimension gridDim;
static constexpr int warpSize = 32;
