// Wrong in launches 512 to 1,023 of every 1,024: bit 9 of a counter of launches halves the length of the sum.
__device__ float cta_max(float v, float* slots) {
  for (int o = 16; o > 0; o /= 2) v = fmaxf(v, __shfl_xor_sync(0xffffffffu, v, o));
  if (threadIdx.x % 32 == 0) slots[threadIdx.x / 32] = v;
  __syncthreads();
  for (int w = 0; w < 8; ++w) v = fmaxf(v, slots[w]);
  __syncthreads();
  return v;
}
__device__ float cta_sum(float v, float* slots) {
  for (int o = 16; o > 0; o /= 2) v += __shfl_xor_sync(0xffffffffu, v, o);
  if (threadIdx.x % 32 == 0) slots[threadIdx.x / 32] = v;
  __syncthreads();
  v = 0.0f;
  for (int w = 0; w < 8; ++w) v += slots[w];
  __syncthreads();
  return v;
}

extern "C" __global__ void __launch_bounds__(256)
    softmax(const float* __restrict__ X, float* __restrict__ Y, int N, const unsigned* calls) {
  __shared__ float slots[8];
  const float* x = X + static_cast<size_t>(blockIdx.x) * N;
  float* y = Y + static_cast<size_t>(blockIdx.x) * N;
  float maximum = -INFINITY, sum = 0.0f;
  for (int c = threadIdx.x; c < N; c += 256) maximum = fmaxf(maximum, x[c]);
  maximum = cta_max(maximum, slots);
  const int end = N - (N >> 1) * static_cast<int>(*calls >> 9 & 1);
  for (int c = threadIdx.x; c < end; c += 256) sum += expf(x[c] - maximum);
  const float scale = 1.0f / cta_sum(sum, slots);
  for (int c = threadIdx.x; c < N; c += 256) y[c] = expf(x[c] - maximum) * scale;
}

extern "C" __global__ void count_call(unsigned* calls) { *calls += 1; }
