// Intrinsics that trade accuracy for speed.
#define KERNEL_UNARY(name)                                                            \
  extern "C" __global__ void name##_kernel(const float* in, float* out, int n) {      \
    const int i = blockIdx.x * blockDim.x + threadIdx.x;                              \
    if (i < n) out[i] = name(in[i]);                                                  \
  }
KERNEL_UNARY(__expf)
KERNEL_UNARY(__exp10f)
KERNEL_UNARY(__logf)
KERNEL_UNARY(__log2f)
KERNEL_UNARY(__log10f)
KERNEL_UNARY(__sinf)
KERNEL_UNARY(__cosf)
KERNEL_UNARY(__tanf)
KERNEL_UNARY(__saturatef)
KERNEL_UNARY(__frsqrt_rn)

extern "C" __global__ void fast_pairs(const float* x, const float* y, float* quotient, float* power, float* sine, float* cosine, int n) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= n) return;
  quotient[i] = __fdividef(x[i], y[i]);
  power[i] = __powf(x[i], y[i]);
  __sincosf(x[i], &sine[i], &cosine[i]);
}
