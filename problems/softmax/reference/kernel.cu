// What reference.ts computes, on a GPU: softmax by rows in float64. Trusted code: it says what right is for shapes that
// take too long on a host, so it is as plain as it can be at that size.
//
// A CTA owns a row and goes over it three times: for the maximum, for the sum of exponentials, and to write the
// quotients.
constexpr int THREADS = 256;

__device__ double larger(double a, double b) { return fmax(a, b); }
__device__ double added(double a, double b) { return a + b; }

// All threads get the combination of every thread's value, in the same order whatever the schedule.
template <typename Combine>
__device__ double combined(double value, Combine combine) {
  __shared__ double values[THREADS];
  values[threadIdx.x] = value;
  __syncthreads();
  for (int half = THREADS / 2; half > 0; half /= 2) {
    if (threadIdx.x < half) values[threadIdx.x] = combine(values[threadIdx.x], values[threadIdx.x + half]);
    __syncthreads();
  }
  const double result = values[0];
  __syncthreads();  // before the next call overwrites them
  return result;
}

__global__ void __launch_bounds__(THREADS) softmax(const float* X, double* Y_exact, int N) {
  const float* x = X + static_cast<size_t>(blockIdx.x) * N;
  double* y = Y_exact + static_cast<size_t>(blockIdx.x) * N;
  double maximum = -INFINITY;
  for (int c = threadIdx.x; c < N; c += THREADS) maximum = fmax(maximum, static_cast<double>(x[c]));
  maximum = combined(maximum, larger);
  double sum = 0.0;
  for (int c = threadIdx.x; c < N; c += THREADS) sum += exp(x[c] - maximum);
  sum = combined(sum, added);
  for (int c = threadIdx.x; c < N; c += THREADS) y[c] = exp(x[c] - maximum) / sum;
}
