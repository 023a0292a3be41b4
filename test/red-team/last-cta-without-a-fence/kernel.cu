// last-cta-without-a-fence: the ticket may become visible before the partial sum that it announces.
__device__ float warp_sum(float value) {
  for (int offset = 16; offset > 0; offset /= 2) value += __shfl_xor_sync(~0u, value, offset);
  return value;
}

__device__ float cta_sum(float value, float* of_warps) {
  value = warp_sum(value);
  if (threadIdx.x % 32 == 0) of_warps[threadIdx.x / 32] = value;
  __syncthreads();
  value = 0.0f;
  for (int warp = 0; warp < 8; ++warp) value += of_warps[warp];
  __syncthreads();
  return value;
}

extern "C" __global__ void __launch_bounds__(256)
    sum(const float* __restrict__ x, float* y, volatile float* partial, unsigned* ticket, int N) {
  __shared__ float of_warps[8];
  __shared__ bool is_last;
  float value = 0.0f;
  for (int i = blockIdx.x * 256 + threadIdx.x; i < N; i += gridDim.x * 256) value += x[i];
  value = cta_sum(value, of_warps);
  if (threadIdx.x == 0) {
    partial[blockIdx.x] = value;
    is_last = atomicAdd(ticket, 1u) == gridDim.x - 1;
  }
  __syncthreads();
  if (!is_last) return;
  value = cta_sum(threadIdx.x < gridDim.x ? partial[threadIdx.x] : 0.0f, of_warps);
  if (threadIdx.x == 0) y[0] = value;
}
