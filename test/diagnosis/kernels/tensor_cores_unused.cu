// A product of fp16 matrices, 16 × 8 += 16 × 16 · 16 × 8 per step, on the fp32 pipes.
#include <cuda_fp16.h>

extern "C" __global__ void on_fp32(const half* a, const half* b, float* c, int steps) {
  const int lane = threadIdx.x % 32;
  float sum[4] = {};
  for (int step = 0; step < steps; ++step) {
    for (int k = 0; k < 16; ++k) {
      const float b_value = __half2float(b[k * 8 + lane % 8]);
#pragma unroll
      for (int i = 0; i < 4; ++i) sum[i] += __half2float(a[(lane / 8 * 4 + i) * 16 + k]) * b_value;
    }
  }
  for (int i = 0; i < 4; ++i) c[(blockIdx.x * blockDim.x + threadIdx.x) * 4 + i] = sum[i];
}
