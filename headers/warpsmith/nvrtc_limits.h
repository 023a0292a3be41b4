// The macros behind <climits> and <cfloat>, which clang predefines. libcu++ defines some of them under NVRTC too, so where
// it is there it comes first.
#pragma once
#if __has_include(<cuda/std/climits>)
#include <cuda/std/climits>
#endif
#define __INT_MAX__ 0x7fffffff
#define __LONG_MAX__ 0x7fffffffffffffffL
#define __LONG_LONG_MAX__ 0x7fffffffffffffffLL
#ifndef __FLT_EPSILON__
#define __FLT_EPSILON__ 1.1920928955078125e-7f
#endif
#ifndef __DBL_EPSILON__
#define __DBL_EPSILON__ 2.2204460492503131e-16
#endif
#ifndef __FLT_MIN__
#define __FLT_MIN__ 1.17549435082228751e-38f
#endif
#ifndef __DBL_MIN__
#define __DBL_MIN__ 2.2250738585072014e-308
#endif
#ifndef __FLT_MAX__
#define __FLT_MAX__ 3.40282346638528860e+38f
#endif
#ifndef __DBL_MAX__
#define __DBL_MAX__ 1.7976931348623157e+308
#endif
#ifndef __FLT_DENORM_MIN__
#define __FLT_DENORM_MIN__ 1.40129846432481707e-45f
#endif
#ifndef __DBL_DENORM_MIN__
#define __DBL_DENORM_MIN__ 4.9406564584124654e-324
#endif
#ifndef __FLT_MANT_DIG__
#define __FLT_MANT_DIG__ 24
#endif
#ifndef __DBL_MANT_DIG__
#define __DBL_MANT_DIG__ 53
#endif
#ifndef __FLT_DIG__
#define __FLT_DIG__ 6
#endif
#ifndef __DBL_DIG__
#define __DBL_DIG__ 15
#endif
#ifndef __FLT_MIN_EXP__
#define __FLT_MIN_EXP__ (-125)
#endif
#ifndef __DBL_MIN_EXP__
#define __DBL_MIN_EXP__ (-1021)
#endif
#ifndef __FLT_MAX_EXP__
#define __FLT_MAX_EXP__ 128
#endif
#ifndef __DBL_MAX_EXP__
#define __DBL_MAX_EXP__ 1024
#endif
