// Softmax whose rows of more than 40,000 elements are shared out to CTAs. Their sums meet in one atomic addition each, so the last bits
// depend on which CTA comes first.
constexpr int kThreads = 256;

__device__ float over_cta(float value, bool is_maximum) {
  __shared__ float of_thread[kThreads];
  of_thread[threadIdx.x] = value;
  __syncthreads();
  for (int half = kThreads / 2; half > 0; half /= 2) {
    if (threadIdx.x < half) {
      const float a = of_thread[threadIdx.x], b = of_thread[threadIdx.x + half];
      of_thread[threadIdx.x] = is_maximum ? fmaxf(a, b) : a + b;
    }
    __syncthreads();
  }
  const float result = of_thread[0];
  __syncthreads();
  return result;
}

extern "C" __global__ void add_weights(const float* X, float* maxima, float* sums, int N, int parts) {
  const int row = blockIdx.x / parts, part = blockIdx.x % parts;
  const float* x = X + static_cast<size_t>(row) * N;
  float maximum = -INFINITY;
  for (int c = threadIdx.x; c < N; c += kThreads) maximum = fmaxf(maximum, x[c]);
  maximum = over_cta(maximum, true);
  const int size = (N + parts - 1) / parts;
  const int end = min(N, (part + 1) * size);
  float sum = 0.0f;
  for (int c = part * size + threadIdx.x; c < end; c += kThreads) sum += expf(x[c] - maximum);
  sum = over_cta(sum, false);
  if (threadIdx.x != 0) return;
  if (part == 0) maxima[row] = maximum;
  atomicAdd(&sums[row], sum);
}

extern "C" __global__ void write_rows(const float* X, float* Y, const float* maxima, const float* sums, int N) {
  const size_t row = blockIdx.x;
  const float maximum = maxima[row], sum = sums[row];
  for (int c = threadIdx.x; c < N; c += kThreads) Y[row * N + c] = expf(X[row * N + c] - maximum) / sum;
}
