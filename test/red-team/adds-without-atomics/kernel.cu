// Lie: CTAs add to one sum in device memory, one after the other if they are lucky.
__device__ float warp_sum(float value) {
  for (int offset = 16; offset > 0; offset /= 2) value += __shfl_xor_sync(~0u, value, offset);
  return value;
}

__device__ float own_sum(const float* x, int N) {
  float sum = 0.0f;
  for (int i = blockIdx.x * 1024 + threadIdx.x; i < min(N, (blockIdx.x + 1) * 1024); i += 256) sum += x[i];
  return sum;
}

extern "C" __global__ void reduce(const float* x, float* y, int N) {
  __shared__ float sums[8];
  const float sum = warp_sum(own_sum(x, N));
  if (threadIdx.x % 32 == 0) sums[threadIdx.x / 32] = sum;
  __syncthreads();
  if (threadIdx.x > 0) return;
  float total = 0.0f;
  for (int warp = 0; warp < 8; ++warp) total += sums[warp];
  *y += total;
}
