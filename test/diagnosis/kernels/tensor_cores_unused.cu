// A product of fp16 matrices, 16 × 8 += 16 × 16 · 16 × 8 per step: on the fp32 pipes, or by mma.sync.
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

extern "C" __global__ void on_tensor_cores(const unsigned* a, const unsigned* b, float* c, int steps) {
  const int lane = threadIdx.x % 32;
  float d0 = 0.0f, d1 = 0.0f, d2 = 0.0f, d3 = 0.0f;
  for (int step = 0; step < steps; ++step) {
    asm volatile(
        "mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32 {%0,%1,%2,%3}, {%4,%5,%6,%7}, {%8,%9}, {%0,%1,%2,%3};"
        : "+f"(d0), "+f"(d1), "+f"(d2), "+f"(d3)
        : "r"(a[lane]), "r"(a[lane + 32]), "r"(a[lane + 64]), "r"(a[lane + 96]), "r"(b[lane]), "r"(b[lane + 32]));
  }
  float* mine = c + (blockIdx.x * blockDim.x + threadIdx.x) * 4;
  mine[0] = d0, mine[1] = d1, mine[2] = d2, mine[3] = d3;
}
