// Takes the place of prelude.h under NVRTC, which has CUDA's functions built in but none of C's headers: what nvcc gives a
// kernel without an #include, through the host compiler's headers. The integers are those of libcu++ under NVRTC.
#pragma once
typedef signed char int8_t;
typedef short int16_t;
typedef int int32_t;
typedef long long int64_t;
typedef unsigned char uint8_t;
typedef unsigned short uint16_t;
typedef unsigned int uint32_t;
typedef unsigned long long uint64_t;
typedef long long intptr_t;
typedef unsigned long long uintptr_t;
typedef long ptrdiff_t;
typedef unsigned short ushort;
typedef unsigned int uint;
typedef unsigned long ulong;
#ifndef NULL
#define NULL 0L
#endif

#ifndef INFINITY
#define INFINITY __builtin_bit_cast(float, 0x7f800000)
#endif
#ifndef NAN
#define NAN __builtin_bit_cast(float, 0x7fc00000)
#endif
#define HUGE_VAL __builtin_bit_cast(double, 0x7ff0000000000000)
#define HUGE_VALF __builtin_bit_cast(float, 0x7f800000)
#define M_E 2.7182818284590452354
#define M_LOG2E 1.4426950408889634074
#define M_LOG10E 0.43429448190325182765
#define M_LN2 0.69314718055994530942
#define M_LN10 2.30258509299404568402
#define M_PI 3.14159265358979323846
#define M_PI_2 1.57079632679489661923
#define M_PI_4 0.78539816339744830962
#define M_SQRT2 1.41421356237309504880
#define M_SQRT1_2 0.70710678118654752440

__device__ inline bool isnormal(float value) { return isfinite(value) && fabsf(value) >= 1.17549435e-38f; }
__device__ inline bool isnormal(double value) { return isfinite(value) && fabs(value) >= 2.2250738585072014e-308; }
// Without the text, which would be a variable of the module.
#define __ws_assertion_failed(condition) __trap()
#undef assert
#define assert(condition) ((condition) ? (void)0 : __ws_assertion_failed(#condition))
