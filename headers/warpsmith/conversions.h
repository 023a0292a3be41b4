// Conversion and reinterpretation intrinsics. To integers they saturate; NaN gives 0 from float to 32 bits, otherwise
// only the highest bit set.
#pragma once

// CUDA says ru and rd where PTX says rp and rm.
#define __WS_CONVERT(suffix, rounding)                                                                              \
  __WS_BOTH int __float2int_##suffix(float x) { return __nvvm_f2i_##rounding(x); }                                   \
  __WS_BOTH unsigned int __float2uint_##suffix(float x) { return __nvvm_f2ui_##rounding(x); }                        \
  __WS_BOTH long long __float2ll_##suffix(float x) { return __nvvm_f2ll_##rounding(x); }                             \
  __WS_BOTH unsigned long long __float2ull_##suffix(float x) { return __nvvm_f2ull_##rounding(x); }                  \
  __WS_BOTH int __double2int_##suffix(double x) { return __nvvm_d2i_##rounding(x); }                                 \
  __WS_BOTH unsigned int __double2uint_##suffix(double x) { return __nvvm_d2ui_##rounding(x); }                      \
  __WS_BOTH long long __double2ll_##suffix(double x) { return __nvvm_d2ll_##rounding(x); }                           \
  __WS_BOTH unsigned long long __double2ull_##suffix(double x) { return __nvvm_d2ull_##rounding(x); }                \
  __WS_BOTH float __double2float_##suffix(double x) { return __nvvm_d2f_##rounding(x); }
__WS_CONVERT(rn, rn)
__WS_CONVERT(rz, rz)
__WS_CONVERT(ru, rp)
__WS_CONVERT(rd, rm)
#undef __WS_CONVERT
// From integers: clang 19 ignores the direction of its own builtins here.
#define __WS_FROM_INTEGER(name, type, result, instruction, in, out)                                                  \
  __WS_BOTH result name##_rn(type x) { return (result)x; }                                                           \
  __WS_FROM_INTEGER_DIRECTED(name##_rz, type, result, "cvt.rz." instruction, in, out)                                \
  __WS_FROM_INTEGER_DIRECTED(name##_ru, type, result, "cvt.rp." instruction, in, out)                                \
  __WS_FROM_INTEGER_DIRECTED(name##_rd, type, result, "cvt.rm." instruction, in, out)
#define __WS_FROM_INTEGER_DIRECTED(name, type, result, instruction, in, out)                                         \
  __WS_BOTH result name(type x) {                                                                                    \
    result value;                                                                                                    \
    asm(instruction " %0, %1;" : out(value) : in(x));                                                                \
    return value;                                                                                                    \
  }
__WS_FROM_INTEGER(__int2float, int, float, "f32.s32", "r", "=f")
__WS_FROM_INTEGER(__uint2float, unsigned int, float, "f32.u32", "r", "=f")
__WS_FROM_INTEGER(__ll2float, long long, float, "f32.s64", "l", "=f")
__WS_FROM_INTEGER(__ull2float, unsigned long long, float, "f32.u64", "l", "=f")
__WS_FROM_INTEGER(__ll2double, long long, double, "f64.s64", "l", "=d")
__WS_FROM_INTEGER(__ull2double, unsigned long long, double, "f64.u64", "l", "=d")
#undef __WS_FROM_INTEGER
#undef __WS_FROM_INTEGER_DIRECTED
__WS_BOTH double __int2double_rn(int x) { return (double)x; }
__WS_BOTH double __uint2double_rn(unsigned int x) { return (double)x; }

__WS_CONSTEXPR int __float_as_int(float x) { return __builtin_bit_cast(int, x); }
__WS_CONSTEXPR unsigned int __float_as_uint(float x) { return __builtin_bit_cast(unsigned int, x); }
__WS_CONSTEXPR float __int_as_float(int x) { return __builtin_bit_cast(float, x); }
__WS_CONSTEXPR float __uint_as_float(unsigned int x) { return __builtin_bit_cast(float, x); }
__WS_CONSTEXPR long long __double_as_longlong(double x) { return __builtin_bit_cast(long long, x); }
__WS_CONSTEXPR double __longlong_as_double(long long x) { return __builtin_bit_cast(double, x); }
__WS_CONSTEXPR int __double2hiint(double x) { return (int)(__builtin_bit_cast(unsigned long long, x) >> 32); }
__WS_CONSTEXPR int __double2loint(double x) { return (int)__builtin_bit_cast(unsigned long long, x); }
__WS_CONSTEXPR double __hiloint2double(int high, int low) {
  return __builtin_bit_cast(double, ((unsigned long long)(unsigned int)high << 32) | (unsigned int)low);
}
