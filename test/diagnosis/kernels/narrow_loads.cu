// Sums a small array that stays in L1, again and again, 2 bytes or 16 bytes per lane and load.
#include <cuda_fp16.h>

extern "C" __global__ void two_bytes(const half* values, float* sums, int n, int rounds) {
  float sum = 0.0f;
  for (int round = 0; round < rounds; ++round) {
    for (int i = threadIdx.x; i < n; i += blockDim.x) sum += __half2float(values[i]);
  }
  sums[blockIdx.x * blockDim.x + threadIdx.x] = sum;
}

extern "C" __global__ void sixteen_bytes(const half* values, float* sums, int n, int rounds) {
  const uint4* vectors = reinterpret_cast<const uint4*>(values);
  float sum = 0.0f;
  for (int round = 0; round < rounds; ++round) {
    for (int i = threadIdx.x; i < n / 8; i += blockDim.x) {
      const uint4 vector = vectors[i];
      const half2* pairs = reinterpret_cast<const half2*>(&vector);
      for (int j = 0; j < 4; ++j) {
        const float2 pair = __half22float2(pairs[j]);
        sum += pair.x + pair.y;
      }
    }
  }
  sums[blockIdx.x * blockDim.x + threadIdx.x] = sum;
}
