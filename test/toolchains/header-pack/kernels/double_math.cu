// Double-precision functions, one kernel each.
#include <cmath>

#define KERNEL_UNARY(name)                                                            \
  extern "C" __global__ void name##_kernel(const double* in, double* out, int n) {    \
    const int i = blockIdx.x * blockDim.x + threadIdx.x;                              \
    if (i < n) out[i] = name(in[i]);                                                  \
  }
#define KERNEL_BINARY(name)                                                           \
  extern "C" __global__ void name##_kernel(const double* x, const double* y, double* out, int n) { \
    const int i = blockIdx.x * blockDim.x + threadIdx.x;                              \
    if (i < n) out[i] = name(x[i], y[i]);                                             \
  }
KERNEL_UNARY(exp)
KERNEL_UNARY(exp2)
KERNEL_UNARY(exp10)
KERNEL_UNARY(expm1)
KERNEL_UNARY(log)
KERNEL_UNARY(log2)
KERNEL_UNARY(log10)
KERNEL_UNARY(log1p)
KERNEL_UNARY(sin)
KERNEL_UNARY(cos)
KERNEL_UNARY(tan)
KERNEL_UNARY(sinpi)
KERNEL_UNARY(cospi)
KERNEL_UNARY(asin)
KERNEL_UNARY(acos)
KERNEL_UNARY(atan)
KERNEL_UNARY(sinh)
KERNEL_UNARY(cosh)
KERNEL_UNARY(tanh)
KERNEL_UNARY(asinh)
KERNEL_UNARY(acosh)
KERNEL_UNARY(atanh)
KERNEL_UNARY(cbrt)
KERNEL_UNARY(rsqrt)
KERNEL_UNARY(erf)
KERNEL_UNARY(erfc)
KERNEL_UNARY(normcdf)
KERNEL_UNARY(tgamma)
KERNEL_UNARY(lgamma)
KERNEL_UNARY(floor)
KERNEL_UNARY(ceil)
KERNEL_UNARY(trunc)
KERNEL_UNARY(round)
KERNEL_UNARY(sqrt)
KERNEL_UNARY(fabs)
KERNEL_BINARY(pow)
KERNEL_BINARY(atan2)
KERNEL_BINARY(hypot)
KERNEL_BINARY(fmod)
KERNEL_BINARY(remainder)
KERNEL_BINARY(fmin)
KERNEL_BINARY(fmax)
