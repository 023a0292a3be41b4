// Repeated sums over a CTA: a tree in shared memory with a barrier per level, or shuffles and two barriers.
extern "C" __global__ void tree(const float* values, float* sums, int rounds) {
  __shared__ float partial[256];
  float total = 0.0f;
  for (int round = 0; round < rounds; ++round) {
    partial[threadIdx.x] = values[threadIdx.x] + static_cast<float>(round);
    __syncthreads();
    for (int width = blockDim.x / 2; width > 0; width /= 2) {
      if (threadIdx.x < width) partial[threadIdx.x] += partial[threadIdx.x + width];
      __syncthreads();
    }
    total += partial[0];
    __syncthreads();
  }
  sums[blockIdx.x * blockDim.x + threadIdx.x] = total;
}

extern "C" __global__ void shuffles(const float* values, float* sums, int rounds) {
  __shared__ float partial[8];
  float total = 0.0f;
  for (int round = 0; round < rounds; ++round) {
    float sum = values[threadIdx.x] + static_cast<float>(round);
    for (int repeat = 0; repeat < 40; ++repeat) {
      for (int offset = 16; offset > 0; offset /= 2) sum += __shfl_xor_sync(0xffffffffu, sum, offset) * 0.01f;
    }
    if (threadIdx.x % 32 == 0) partial[threadIdx.x / 32] = sum;
    __syncthreads();
    for (int warp = 0; warp < 8; ++warp) total += partial[warp];
    __syncthreads();
  }
  sums[blockIdx.x * blockDim.x + threadIdx.x] = total;
}
