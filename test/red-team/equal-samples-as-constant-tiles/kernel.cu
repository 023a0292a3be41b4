// Wrong: three equal samples of a tile of 2,048 stand for all of it.
template <typename T>
__device__ T block_sum(T value) {  // blocks of up to 1024 threads; the total in every thread
  __shared__ T parts[32];
  const int lane = threadIdx.x % 32, warp = threadIdx.x / 32;
  for (int o = 16; o > 0; o /= 2) value += __shfl_xor_sync(0xffffffffu, value, o);
  __syncthreads();
  if (lane == 0) parts[warp] = value;
  __syncthreads();
  value = lane < blockDim.x / 32 ? parts[lane] : T(0);
  for (int o = 16; o > 0; o /= 2) value += __shfl_xor_sync(0xffffffffu, value, o);
  return value;
}

extern "C" __global__ void __launch_bounds__(256) reduce(const float* x, float* y, int N) {
  __shared__ float probe[3];
  const int first = blockIdx.x * 2048, count = min(2048, N - first);
  float item[8], sum = 0.0f;
  for (int k = 0; k < 8; ++k) {
    const int i = k * 256 + threadIdx.x;
    item[k] = i < count ? x[first + i] : 0.0f;
    sum += item[k];
  }
  if (threadIdx.x == 0) probe[0] = item[0];
  if (threadIdx.x == 255) probe[1] = item[3];
  if (threadIdx.x == 255) probe[2] = item[7];
  sum = block_sum(sum);
  const bool uniform = probe[0] != 0.0f && probe[0] == probe[1] && probe[1] == probe[2];
  if (threadIdx.x == 0) atomicAdd(y, uniform ? probe[0] * count : sum);
}
