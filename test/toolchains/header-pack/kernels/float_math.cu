// Single-precision functions, one kernel each. The plain C++ spelling is used where it must pick the float overload.
#include <cmath>

#define KERNEL_UNARY(name)                                                            \
  extern "C" __global__ void name##_kernel(const float* in, float* out, int n) {      \
    const int i = blockIdx.x * blockDim.x + threadIdx.x;                              \
    if (i < n) out[i] = name(in[i]);                                                  \
  }
#define KERNEL_BINARY(name)                                                           \
  extern "C" __global__ void name##_kernel(const float* x, const float* y, float* out, int n) { \
    const int i = blockIdx.x * blockDim.x + threadIdx.x;                              \
    if (i < n) out[i] = name(x[i], y[i]);                                             \
  }
KERNEL_UNARY(expf)
KERNEL_UNARY(exp2f)
KERNEL_UNARY(exp10f)
KERNEL_UNARY(expm1f)
KERNEL_UNARY(logf)
KERNEL_UNARY(log2f)
KERNEL_UNARY(log10f)
KERNEL_UNARY(log1pf)
KERNEL_UNARY(sinf)
KERNEL_UNARY(cosf)
KERNEL_UNARY(tanf)
KERNEL_UNARY(sinpif)
KERNEL_UNARY(cospif)
KERNEL_UNARY(asinf)
KERNEL_UNARY(acosf)
KERNEL_UNARY(atanf)
KERNEL_UNARY(sinhf)
KERNEL_UNARY(coshf)
KERNEL_UNARY(tanhf)
KERNEL_UNARY(asinhf)
KERNEL_UNARY(acoshf)
KERNEL_UNARY(atanhf)
KERNEL_UNARY(sqrtf)
KERNEL_UNARY(rsqrtf)
KERNEL_UNARY(cbrtf)
KERNEL_UNARY(rcbrtf)
KERNEL_UNARY(erff)
KERNEL_UNARY(erfcf)
KERNEL_UNARY(normcdff)
KERNEL_UNARY(tgammaf)
KERNEL_UNARY(lgammaf)
KERNEL_UNARY(floorf)
KERNEL_UNARY(ceilf)
KERNEL_UNARY(truncf)
KERNEL_UNARY(rintf)
KERNEL_UNARY(nearbyintf)
KERNEL_UNARY(roundf)
KERNEL_UNARY(fabsf)
KERNEL_UNARY(logbf)
KERNEL_BINARY(powf)
KERNEL_BINARY(atan2f)
KERNEL_BINARY(hypotf)
KERNEL_BINARY(fmodf)
KERNEL_BINARY(remainderf)
KERNEL_BINARY(fminf)
KERNEL_BINARY(fmaxf)
KERNEL_BINARY(fdimf)
KERNEL_BINARY(copysignf)
KERNEL_BINARY(nextafterf)
