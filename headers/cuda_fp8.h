// fp8: storage types, conversions, and __nv_fp8_e4m3, __nv_fp8_e5m2 with their pairs and quadruples. Conversions compute with
// integers, as CUDA's do before sm_89: they round to nearest even, and give what `cvt` gives.
#pragma once
#include "cuda_bf16.h"
#include "cuda_fp16.h"

typedef unsigned char __nv_fp8_storage_t;
typedef unsigned short __nv_fp8x2_storage_t;
typedef unsigned int __nv_fp8x4_storage_t;
enum __nv_saturation_t { __NV_NOSAT, __NV_SATFINITE };
enum __nv_fp8_interpretation_t { __NV_E4M3, __NV_E5M2 };

// 2 to the power of an exponent from -126 to 127.
__WS_DEVICE float __ws_fp8_power(int exponent) { return __builtin_bit_cast(float, (unsigned int)(exponent + 127) << 23); }

__WS_DEVICE unsigned char __ws_to_fp8(float value, __nv_saturation_t saturation, __nv_fp8_interpretation_t format) {
  const unsigned int bits = __builtin_bit_cast(unsigned int, value);
  const unsigned int sign = (bits >> 24) & 0x80u;
  const float size = __builtin_bit_cast(float, bits & 0x7fffffffu);
  const int mantissa_bits = format == __NV_E4M3 ? 3 : 2;
  const int bias = format == __NV_E4M3 ? 7 : 15;
  if (size != size) return (unsigned char)(sign | 0x7fu);
  const int exponent = (int)((bits >> 23) & 255u) - 127;
  const int scale = exponent < 1 - bias ? 1 - bias : exponent;
  // Larger values than any that is not rounded to infinity.
  const unsigned int largest = format == __NV_E4M3 ? 0x7eu : 0x7bu;
  const unsigned int beyond = saturation == __NV_SATFINITE ? largest : format == __NV_E4M3 ? 0x7fu : 0x7cu;
  if (exponent > bias + 1) return (unsigned char)(sign | beyond);
  const unsigned int units = (unsigned int)__builtin_rintf(size * __ws_fp8_power(mantissa_bits - scale));
  const unsigned int normal = 1u << mantissa_bits;
  const unsigned int code = units < normal ? units : ((unsigned int)(scale + bias) << mantissa_bits) + units - normal;
  return (unsigned char)(sign | (code > largest ? beyond : code));
}
__WS_DEVICE float __ws_from_fp8(unsigned char code, __nv_fp8_interpretation_t format) {
  const int mantissa_bits = format == __NV_E4M3 ? 3 : 2;
  const int bias = format == __NV_E4M3 ? 7 : 15;
  const unsigned int size = code & 0x7fu;
  const unsigned int exponent = size >> mantissa_bits;
  const unsigned int mantissa = size & ((1u << mantissa_bits) - 1);
  const float sign = code & 0x80u ? -1.0f : 1.0f;
  if (format == __NV_E4M3 ? size == 0x7fu : size > 0x7cu) return __builtin_nanf("");
  if (format == __NV_E5M2 && size == 0x7cu) return sign * __builtin_inff();
  if (exponent == 0) return sign * (float)mantissa * __ws_fp8_power(1 - bias - mantissa_bits);
  return sign * (float)(mantissa + (1u << mantissa_bits)) * __ws_fp8_power((int)exponent - bias - mantissa_bits);
}

__WS_DEVICE __nv_fp8_storage_t __nv_cvt_float_to_fp8(float x, __nv_saturation_t saturation, __nv_fp8_interpretation_t format) {
  return __ws_to_fp8(x, saturation, format);
}
__WS_DEVICE __nv_fp8x2_storage_t __nv_cvt_float2_to_fp8x2(float2 x, __nv_saturation_t saturation, __nv_fp8_interpretation_t format) {
  return (__nv_fp8x2_storage_t)(__ws_to_fp8(x.x, saturation, format) | __ws_to_fp8(x.y, saturation, format) << 8);
}
__WS_DEVICE __nv_fp8_storage_t __nv_cvt_halfraw_to_fp8(__half_raw x, __nv_saturation_t saturation, __nv_fp8_interpretation_t format) {
  return __ws_to_fp8(__half2float(__half(x)), saturation, format);
}
__WS_DEVICE __nv_fp8x2_storage_t __nv_cvt_halfraw2_to_fp8x2(__half2_raw x, __nv_saturation_t saturation, __nv_fp8_interpretation_t format) {
  return __nv_cvt_float2_to_fp8x2(__half22float2(__half2(x)), saturation, format);
}
__WS_DEVICE __nv_fp8_storage_t __nv_cvt_bfloat16raw_to_fp8(__nv_bfloat16_raw x, __nv_saturation_t saturation, __nv_fp8_interpretation_t format) {
  return __ws_to_fp8(__bfloat162float(__nv_bfloat16(x)), saturation, format);
}
// Every fp8 value is a half.
__WS_DEVICE __half_raw __nv_cvt_fp8_to_halfraw(__nv_fp8_storage_t x, __nv_fp8_interpretation_t format) {
  return __half_raw(__float2half(__ws_from_fp8(x, format)));
}
__WS_DEVICE __half2_raw __nv_cvt_fp8x2_to_halfraw2(__nv_fp8x2_storage_t x, __nv_fp8_interpretation_t format) {
  return __half2_raw(__floats2half2_rn(__ws_from_fp8(x & 255, format), __ws_from_fp8(x >> 8, format)));
}

#define __WS_FP8(name, format)                                                                                          \
  struct name {                                                                                                         \
    __nv_fp8_storage_t __x;                                                                                             \
    name() = default;                                                                                                   \
    __device__ __forceinline__ explicit name(float value) : __x(__ws_to_fp8(value, __NV_SATFINITE, format)) {}          \
    __device__ __forceinline__ explicit name(double value) : name((float)value) {}                                      \
    __device__ __forceinline__ explicit name(__half value) : name(__half2float(value)) {}                               \
    __device__ __forceinline__ explicit name(__nv_bfloat16 value) : name(__bfloat162float(value)) {}                    \
    __device__ __forceinline__ explicit name(int value) : name((float)value) {}                                         \
    __device__ __forceinline__ explicit name(unsigned int value) : name((float)value) {}                                \
    __device__ __forceinline__ explicit operator float() const { return __ws_from_fp8(__x, format); }                   \
    __device__ __forceinline__ explicit operator double() const { return __ws_from_fp8(__x, format); }                  \
    __device__ __forceinline__ explicit operator __half() const { return __float2half((float)*this); }                  \
    __device__ __forceinline__ explicit operator __nv_bfloat16() const { return __float2bfloat16((float)*this); }       \
    __device__ __forceinline__ explicit operator int() const { return (int)(float)*this; }                              \
    __device__ __forceinline__ explicit operator bool() const { return (__x & 0x7f) != 0; }                             \
  };                                                                                                                    \
  struct __attribute__((aligned(2))) __WS_FP8_PAIR(name) {                                                              \
    __nv_fp8x2_storage_t __x;                                                                                           \
    __WS_FP8_PAIR(name)() = default;                                                                                    \
    __device__ __forceinline__ explicit __WS_FP8_PAIR(name)(float2 v)                                                   \
        : __x(__nv_cvt_float2_to_fp8x2(v, __NV_SATFINITE, format)) {}                                                   \
    __device__ __forceinline__ explicit __WS_FP8_PAIR(name)(__half2 v) : __WS_FP8_PAIR(name)(__half22float2(v)) {}      \
    __device__ __forceinline__ explicit __WS_FP8_PAIR(name)(__nv_bfloat162 v)                                           \
        : __WS_FP8_PAIR(name)(__bfloat1622float2(v)) {}                                                                 \
    __device__ __forceinline__ explicit operator float2() const {                                                       \
      return make_float2(__ws_from_fp8(__x & 255, format), __ws_from_fp8(__x >> 8, format));                            \
    }                                                                                                                   \
    __device__ __forceinline__ explicit operator __half2() const { return __float22half2_rn((float2)*this); }           \
  };                                                                                                                    \
  struct __attribute__((aligned(4))) __WS_FP8_FOUR(name) {                                                              \
    __nv_fp8x4_storage_t __x;                                                                                           \
    __WS_FP8_FOUR(name)() = default;                                                                                    \
    __device__ __forceinline__ explicit __WS_FP8_FOUR(name)(float4 v)                                                   \
        : __x(__nv_cvt_float2_to_fp8x2(make_float2(v.x, v.y), __NV_SATFINITE, format) |                                 \
              (unsigned int)__nv_cvt_float2_to_fp8x2(make_float2(v.z, v.w), __NV_SATFINITE, format) << 16) {}           \
    __device__ __forceinline__ __WS_FP8_FOUR(name)(__half2 low, __half2 high)                                           \
        : __WS_FP8_FOUR(name)(make_float4(__low2float(low), __high2float(low), __low2float(high), __high2float(high))) {} \
    __device__ __forceinline__ explicit operator float4() const {                                                       \
      return make_float4(__ws_from_fp8(__x & 255, format), __ws_from_fp8((__x >> 8) & 255, format),                     \
                         __ws_from_fp8((__x >> 16) & 255, format), __ws_from_fp8(__x >> 24, format));                   \
    }                                                                                                                   \
  };
#define __nv_fp8_e4m3_pair __nv_fp8x2_e4m3
#define __nv_fp8_e5m2_pair __nv_fp8x2_e5m2
#define __nv_fp8_e4m3_four __nv_fp8x4_e4m3
#define __nv_fp8_e5m2_four __nv_fp8x4_e5m2
#define __WS_FP8_PAIR(name) name##_pair
#define __WS_FP8_FOUR(name) name##_four
__WS_FP8(__nv_fp8_e4m3, __NV_E4M3)
__WS_FP8(__nv_fp8_e5m2, __NV_E5M2)
#undef __WS_FP8
#undef __WS_FP8_PAIR
#undef __WS_FP8_FOUR
#undef __nv_fp8_e4m3_pair
#undef __nv_fp8_e5m2_pair
#undef __nv_fp8_e4m3_four
#undef __nv_fp8_e5m2_four
