// A CTA per row: maximum, sum of exponentials, quotients.
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

__device__ float block_max(float value) {
  __shared__ float parts[32];
  const int lane = threadIdx.x % 32, warp = threadIdx.x / 32;
  for (int o = 16; o > 0; o /= 2) value = fmaxf(value, __shfl_xor_sync(0xffffffffu, value, o));
  if (lane == 0) parts[warp] = value;
  __syncthreads();
  for (int w = 0; w < blockDim.x / 32; ++w) value = fmaxf(value, parts[w]);
  return value;
}

extern "C" __global__ void __launch_bounds__(256) softmax(const float* X, float* Y, int N) {
  const float* x = X + (size_t)blockIdx.x * N;
  float* y = Y + (size_t)blockIdx.x * N;
  float maximum = -1e9f;
  for (int c = threadIdx.x; c < N; c += 256) maximum = fmaxf(maximum, x[c]);
  maximum = block_max(maximum);
  float sum = 0.0f;
  for (int c = threadIdx.x; c < N; c += 256) sum += expf(x[c] - maximum);
  const float inverse = 1.0f / block_sum(sum);
  for (int c = threadIdx.x; c < N; c += 256) y[c] = expf(x[c] - maximum) * inverse;
}
