// A per-thread array indexed by data lives in local memory; indexed by constants it lives in registers.
constexpr int kSize = 16;

extern "C" __global__ void indexed_by_data(const int* indices, float* sums, int rounds) {
  float bins[kSize] = {};
  for (int round = 0; round < rounds; ++round) bins[indices[round] % kSize] += 1.0f;
  float sum = 0.0f;
  for (int i = 0; i < kSize; ++i) sum += bins[i] * static_cast<float>(i);
  sums[blockIdx.x * blockDim.x + threadIdx.x] = sum;
}

extern "C" __global__ void indexed_by_constants(const int* indices, float* sums, int rounds) {
  float bins[kSize] = {};
  for (int round = 0; round < rounds; ++round) {
    const int index = indices[round] % kSize;
#pragma unroll
    for (int i = 0; i < kSize; ++i) bins[i] += i == index ? 1.0f : 0.0f;
  }
  float sum = 0.0f;
#pragma unroll
  for (int i = 0; i < kSize; ++i) sum += bins[i] * static_cast<float>(i);
  sums[blockIdx.x * blockDim.x + threadIdx.x] = sum;
}
