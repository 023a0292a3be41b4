constexpr int BLOCK = 256;
constexpr int WARPS = BLOCK / 32;

__device__ float warpSum(float value) {
  for (int offset = 16; offset > 0; offset /= 2) value += __shfl_down_sync(0xffffffffu, value, offset);
  return value;
}

// Lanes, then warps, then blocks: five shuffles, one word of shared memory per warp, one atomic per block.
__global__ void sum(const float* __restrict__ x, float* __restrict__ total, int n) {
  __shared__ float sums[WARPS];
  const int t = threadIdx.x;
  float mine = 0.0f;
  for (int i = blockIdx.x * BLOCK + t; i < n; i += gridDim.x * BLOCK) mine += x[i];
  mine = warpSum(mine);
  if (t % 32 == 0) sums[t / 32] = mine;
  __syncthreads();
  if (t >= 32) return;
  mine = warpSum(t < WARPS ? sums[t] : 0.0f);
  if (t == 0) atomicAdd(total, mine);
}
