// What C's headers give a kernel: memory functions, printf, assert.
#pragma once

#define NULL __null
typedef long clock_t;

#define M_E 2.7182818284590452354
#define M_LOG2E 1.4426950408889634074
#define M_LOG10E 0.43429448190325182765
#define M_LN2 0.69314718055994530942
#define M_LN10 2.30258509299404568402
#define M_PI 3.14159265358979323846
#define M_PI_2 1.57079632679489661923
#define M_PI_4 0.78539816339744830962
#define M_1_PI 0.31830988618379067154
#define M_2_PI 0.63661977236758134308
#define M_2_SQRTPI 1.12837916709551257390
#define M_SQRT2 1.41421356237309504880
#define M_SQRT1_2 0.70710678118654752440

// What no device offers: whoever uses it stops with this name, as `unsupported`.
#define __WS_UNSUPPORTED(text) __attribute__((unavailable("unsupported: " text)))

// The compiler packs the arguments and calls vprintf, as nvcc does.
extern "C" __device__ int printf(const char* format, ...);

// What they give outlives the launch, and with it the check of one launch.
#define __WS_NO_HEAP __WS_UNSUPPORTED("the device heap outlives a launch; declare a workspace in kernel.json instead")
extern "C" __device__ void* malloc(size_t bytes) __WS_NO_HEAP;
extern "C" __device__ void free(void* pointer) __WS_NO_HEAP;
__device__ void* operator new(size_t bytes) __WS_NO_HEAP;
__device__ void* operator new[](size_t bytes) __WS_NO_HEAP;
__device__ void operator delete(void* pointer) noexcept __WS_NO_HEAP;
__device__ void operator delete[](void* pointer) noexcept __WS_NO_HEAP;
__device__ void operator delete(void* pointer, size_t bytes) noexcept __WS_NO_HEAP;
__device__ void operator delete[](void* pointer, size_t bytes) noexcept __WS_NO_HEAP;
__device__ __forceinline__ void* operator new(size_t, void* place) noexcept { return place; }
__device__ __forceinline__ void* operator new[](size_t, void* place) noexcept { return place; }

__WS_BOTH void* memcpy(void* to, const void* from, size_t bytes) { return __builtin_memcpy(to, from, bytes); }
__WS_BOTH void* memset(void* to, int value, size_t bytes) { return __builtin_memset(to, value, bytes); }

extern "C" __device__ __attribute__((noreturn)) void __assertfail(
    const char* condition, const char* file, unsigned line, const char* function, size_t character_bytes);
#define __ws_assertion_failed(condition) __assertfail(condition, __FILE__, __LINE__, __PRETTY_FUNCTION__, 1)
#include "assert.h"
