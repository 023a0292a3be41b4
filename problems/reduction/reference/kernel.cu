// What reference.ts computes, on a GPU: the sum in float64. Trusted code: it says what right is for shapes that take too
// long on a host, so it is as plain as it can be at that size. Two launches; the order of additions is fixed.
constexpr int THREADS = 256;

// The sum over the CTA's threads, in thread 0.
__device__ double cta_sum(double value) {
  __shared__ double partial[THREADS];
  partial[threadIdx.x] = value;
  for (int stride = THREADS / 2; stride > 0; stride /= 2) {
    __syncthreads();
    if (threadIdx.x < stride) partial[threadIdx.x] += partial[threadIdx.x + stride];
  }
  return partial[0];
}

extern "C" __global__ void partial_sums(const float* x, double* partials, long long N) {
  double sum = 0.0;
  const long long stride = static_cast<long long>(gridDim.x) * THREADS;
  for (long long i = static_cast<long long>(blockIdx.x) * THREADS + threadIdx.x; i < N; i += stride) sum += x[i];
  sum = cta_sum(sum);
  if (threadIdx.x == 0) partials[blockIdx.x] = sum;
}

extern "C" __global__ void sum_partials(const double* partials, double* y_exact, int count) {
  double sum = 0.0;
  for (int i = threadIdx.x; i < count; i += THREADS) sum += partials[i];
  sum = cta_sum(sum);
  if (threadIdx.x == 0) *y_exact = sum;
}
