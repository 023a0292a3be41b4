// Wrong from 262,141 rows on: kernel.json bounds the grid, and nothing goes over the rest.
#include <cuda_fp16.h>
__device__ float warp_sum(float v) {
#pragma unroll
  for (int o = 16; o > 0; o /= 2) v += __shfl_xor_sync(0xffffffffu, v, o);
  return v;
}

extern "C" __global__ void __launch_bounds__(128) layernorm(const half* __restrict__ X, const half* __restrict__ gamma, const half* __restrict__ beta,
                                                           half* __restrict__ Y, int R, int N, float eps) {
  const int row = blockIdx.x * 4 + threadIdx.x / 32, lane = threadIdx.x % 32;
  if (row >= R) return;
  const half* x = X + (size_t)row * N;
  half* y = Y + (size_t)row * N;
  float sum = 0.0f;
  for (int c = lane; c < N; c += 32) sum += __half2float(x[c]);
  const float mean = warp_sum(sum) / N;
  float squares = 0.0f;
  for (int c = lane; c < N; c += 32) {
    const float d = __half2float(x[c]) - mean;
    squares += d * d;
  }
  const float inverse = 1.0f / sqrtf(warp_sum(squares) / N + eps);
  for (int c = lane; c < N; c += 32)
    y[c] = __float2half((__half2float(x[c]) - mean) * inverse * __half2float(gamma[c]) + __half2float(beta[c]));
}
