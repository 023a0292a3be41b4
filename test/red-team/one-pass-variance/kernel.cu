// Lie: Works out the variance as E[x^2] - E[x]^2: right where the mean is small.
#include <cuda_fp16.h>

extern "C" __global__ void layernorm(const half* X, const half* gamma, const half* beta, half* Y, int N, float eps) {
  const half* x = X + static_cast<size_t>(blockIdx.x) * N;  // one warp per row
  half* y = Y + static_cast<size_t>(blockIdx.x) * N;
  float sum = 0.0f, squares = 0.0f;
  for (int c = threadIdx.x; c < N; c += 32) {
    const float value = __half2float(x[c]);
    sum += value;
    squares += value * value;
  }
  for (int offset = 16; offset > 0; offset /= 2) {
    sum += __shfl_xor_sync(~0u, sum, offset);
    squares += __shfl_xor_sync(~0u, squares, offset);
  }
  const float mean = sum / N;
  const float inverse = rsqrtf(fmaxf(squares / N - mean * mean, 0.0f) + eps);
  for (int c = threadIdx.x; c < N; c += 32) {
    const float normalised = (__half2float(x[c]) - mean) * inverse;
    y[c] = __float2half(normalised * __half2float(gamma[c]) + __half2float(beta[c]));
  }
}
