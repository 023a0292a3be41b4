constexpr int BLOCK = 256;

// Each block adds up its part of x: first every thread some elements, then
// the block halves the number of sums until one is left. From 32 on only one
// warp works, and "a warp needs no barrier, because it runs in step".
__global__ void sum(const float* __restrict__ x, float* __restrict__ total, int n) {
  __shared__ float sums[BLOCK];
  const int t = threadIdx.x;
  float mine = 0.0f;
  for (int i = blockIdx.x * BLOCK + t; i < n; i += gridDim.x * BLOCK) mine += x[i];
  sums[t] = mine;
  __syncthreads();
  for (int half = BLOCK / 2; half > 16; half /= 2) {
    if (t < half) sums[t] += sums[t + half];
    __syncthreads();
  }
  if (t < 32) {
    for (int half = 16; half > 0; half /= 2) sums[t] += sums[t + half];
  }
  if (t == 0) atomicAdd(total, sums[0]);
}
