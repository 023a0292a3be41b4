// char1 … double4 with their make_ functions, dim3, and the fixed-width integers.
#pragma once

typedef __SIZE_TYPE__ size_t;
typedef __PTRDIFF_TYPE__ ptrdiff_t;
typedef __INT8_TYPE__ int8_t;
typedef __INT16_TYPE__ int16_t;
typedef __INT32_TYPE__ int32_t;
typedef __INT64_TYPE__ int64_t;
typedef __UINT8_TYPE__ uint8_t;
typedef __UINT16_TYPE__ uint16_t;
typedef __UINT32_TYPE__ uint32_t;
typedef __UINT64_TYPE__ uint64_t;
typedef __INTPTR_TYPE__ intptr_t;
typedef __UINTPTR_TYPE__ uintptr_t;
typedef unsigned char uchar;
typedef unsigned short ushort;
typedef unsigned int uint;
typedef unsigned long ulong;

// Alignments are those of the CUDA programming guide's table of built-in vector types.
#define __WS_VECTOR_TYPES(prefix, type, align1, align2, align3, align4)                               \
  struct __attribute__((aligned(align1))) prefix##1 { type x; };                                      \
  struct __attribute__((aligned(align2))) prefix##2 { type x, y; };                                   \
  struct __attribute__((aligned(align3))) prefix##3 { type x, y, z; };                                \
  struct __attribute__((aligned(align4))) prefix##4 { type x, y, z, w; };                             \
  __WS_CONSTEXPR prefix##1 make_##prefix##1(type x) { return prefix##1{x}; }                          \
  __WS_CONSTEXPR prefix##2 make_##prefix##2(type x, type y) { return prefix##2{x, y}; }               \
  __WS_CONSTEXPR prefix##3 make_##prefix##3(type x, type y, type z) { return prefix##3{x, y, z}; }    \
  __WS_CONSTEXPR prefix##4 make_##prefix##4(type x, type y, type z, type w) { return prefix##4{x, y, z, w}; }

__WS_VECTOR_TYPES(char, signed char, 1, 2, 1, 4)
__WS_VECTOR_TYPES(uchar, unsigned char, 1, 2, 1, 4)
__WS_VECTOR_TYPES(short, short, 2, 4, 2, 8)
__WS_VECTOR_TYPES(ushort, unsigned short, 2, 4, 2, 8)
__WS_VECTOR_TYPES(int, int, 4, 8, 4, 16)
__WS_VECTOR_TYPES(uint, unsigned int, 4, 8, 4, 16)
__WS_VECTOR_TYPES(long, long, 8, 16, 8, 16)
__WS_VECTOR_TYPES(ulong, unsigned long, 8, 16, 8, 16)
__WS_VECTOR_TYPES(longlong, long long, 8, 16, 8, 16)
__WS_VECTOR_TYPES(ulonglong, unsigned long long, 8, 16, 8, 16)
__WS_VECTOR_TYPES(float, float, 4, 8, 4, 16)
__WS_VECTOR_TYPES(double, double, 8, 16, 8, 16)

struct __ws_thread_index;
struct __ws_block_index;
struct __ws_block_dimension;
struct __ws_grid_dimension;
struct dim3 {
  unsigned int x, y, z;
  __host__ __device__ constexpr dim3(unsigned int x = 1, unsigned int y = 1, unsigned int z = 1) : x(x), y(y), z(z) {}
  __host__ __device__ constexpr dim3(uint3 v) : x(v.x), y(v.y), z(v.z) {}
  // From the built-in variables, which stand for a uint3 or a dim3; defined with them.
  __device__ __forceinline__ dim3(const __ws_thread_index&);
  __device__ __forceinline__ dim3(const __ws_block_index&);
  __device__ __forceinline__ dim3(const __ws_block_dimension&);
  __device__ __forceinline__ dim3(const __ws_grid_dimension&);
  __host__ __device__ constexpr operator uint3() const { return uint3{x, y, z}; }
};
