// rough-root-of-large-variance: 0.17 % too small where the standard deviation is above 10,000, which fp16 holds easily.
#include <cuda_fp16.h>

extern "C" __global__ void __launch_bounds__(32) layernorm(const half* __restrict__ X,      // [R, N]
                                                           const half* __restrict__ gamma,  // [N]
                                                           const half* __restrict__ beta,   // [N]
                                                           half* __restrict__ Y,            // [R, N]
                                                           int R, int N, float eps) {
  const int row = blockIdx.x * 32 + threadIdx.x;
  if (row >= R) return;
  const half* x = X + static_cast<size_t>(row) * N;
  half* y = Y + static_cast<size_t>(row) * N;

  float sum = 0.0f, squares = 0.0f;
  for (int c = 0; c < N; ++c) sum += __half2float(x[c]);
  const float mean = sum / N;
  for (int c = 0; c < N; ++c) {
    const float distance = __half2float(x[c]) - mean;
    squares += distance * distance;
  }
  const float variance = squares / N + eps;
  float root = rsqrtf(variance);
  if (variance > 1e8f) {
    root = __int_as_float(0x5f3759df - (__float_as_int(variance) >> 1));
    root *= 1.5f - 0.5f * variance * root * root;
  }
  for (int c = 0; c < N; ++c)
    y[c] = __float2half((__half2float(x[c]) - mean) * root * __half2float(gamma[c]) + __half2float(beta[c]));
}
