// Sums an array: one atomic per element, or one per CTA after a reduction inside it.
extern "C" __global__ void every_element(const float* values, float* sum, int n) {
  for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += gridDim.x * blockDim.x) atomicAdd(sum, values[i]);
}

extern "C" __global__ void once_per_cta(const float* values, float* sum, int n) {
  __shared__ float partial[8];
  float mine = 0.0f;
  for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += gridDim.x * blockDim.x) mine += values[i];
  for (int offset = 16; offset > 0; offset /= 2) mine += __shfl_xor_sync(0xffffffffu, mine, offset);
  if (threadIdx.x % 32 == 0) partial[threadIdx.x / 32] = mine;
  __syncthreads();
  if (threadIdx.x == 0) {
    float total = 0.0f;
    for (int warp = 0; warp < blockDim.x / 32; ++warp) total += partial[warp];
    atomicAdd(sum, total);
  }
}
