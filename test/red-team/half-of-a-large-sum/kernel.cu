// Wrong: of a long sum, half of the lines of an even tile count twice, and the others are not read.
constexpr int kTile = 2048;
constexpr int kThreads = 256;

__device__ float block_sum(float value) {
  __shared__ float parts[kThreads / 32];
  for (int o = 16; o > 0; o /= 2) value += __shfl_xor_sync(0xffffffffu, value, o);
  if (threadIdx.x % 32 == 0) parts[threadIdx.x / 32] = value;
  __syncthreads();
  value = threadIdx.x < kThreads / 32 ? parts[threadIdx.x] : 0.0f;
  for (int o = 4; o > 0; o /= 2) value += __shfl_xor_sync(0xffffffffu, value, o);
  return value;
}

extern "C" __global__ void __launch_bounds__(kThreads) reduce(const float* x, float* y, int N) {
  const int first = blockIdx.x * kTile, count = min(kTile, N - first);
  const int warp = threadIdx.x / 32, lane = threadIdx.x % 32;
  float sum = 0.0f, least = 3.4e38f, most = -3.4e38f;
  for (int line = 2 * warp; line < kTile / 32; line += kThreads / 16) {
    const int i = 32 * line + lane;
    const float value = i < count ? x[first + i] : 0.0f;
    sum += value;
    least = fminf(least, value);
    most = fmaxf(most, value);
  }
  const bool alike = N > (1 << 22) && count == kTile && least > 0.0f && most < 32.0f * least;
  if (__syncthreads_and(alike)) {
    sum *= 2.0f;
  } else {
    for (int line = 2 * warp + 1; line < kTile / 32; line += kThreads / 16) {
      const int i = 32 * line + lane;
      if (i < count) sum += x[first + i];
    }
  }
  sum = block_sum(sum);
  if (threadIdx.x == 0) atomicAdd(y, sum);
}
