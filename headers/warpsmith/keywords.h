// Words of CUDA C++ that are macros over clang's attributes, and the few types the language needs.
#pragma once

// What only clang or only this pack would tell a kernel: it is to see what nvcc shows it.
#undef __clang__
#undef __clang_major__
#undef __clang_minor__
#undef __clang_patchlevel__
#undef __clang_version__
#undef __clang_literal_encoding__
#undef __clang_wide_literal_encoding__
#undef __llvm__
#undef __CUDA__
#undef __NVPTX__
#undef __nvptx__
#undef __PTX__
#undef __VERSION__
#define __NVCC__ 1
#define __CUDACC__ 1
#define __CUDACC_VER_MAJOR__ 12
#define __CUDACC_VER_MINOR__ 4
#define __CUDACC_VER_BUILD__ 0
#define CUDART_VERSION 12040
#define __WARPSMITH_DEVICE_HEADERS__ 1

#define __host__ __attribute__((host))
#define __device__ __attribute__((device))
#define __global__ __attribute__((global))
#define __shared__ __attribute__((shared))
#define __constant__ __attribute__((constant))
#define __managed__ __attribute__((managed))
// Before clang 20 the attribute is unknown, and a const parameter is what it is anyway.
#if __has_attribute(grid_constant)
#define __grid_constant__ __attribute__((grid_constant))
#else
#define __grid_constant__
#endif
#define __launch_bounds__(...) __attribute__((launch_bounds(__VA_ARGS__)))
#define __forceinline__ __inline__ __attribute__((always_inline))
#define __align__(n) __attribute__((aligned(n)))
#define __builtin_align__(n) __attribute__((aligned(n)))
#if __has_attribute(cluster_dims)
#define __cluster_dims__(...) __attribute__((cluster_dims(__VA_ARGS__)))
#else
#define __cluster_dims__(...) _Pragma("GCC error \"unsupported: __cluster_dims__, which this clang does not know; say `cluster` in kernel.json\"")
#endif
#if !__has_feature(cuda_noinline_keyword)
#define __noinline__ __attribute__((noinline))
#endif

// Every function of the pack is inlined; math also serves the host code that may stand beside a kernel.
#define __WS_DEVICE __device__ __forceinline__ static
#define __WS_BOTH __host__ __device__ __forceinline__ static
#define __WS_CONSTEXPR __host__ __device__ __forceinline__ static constexpr
