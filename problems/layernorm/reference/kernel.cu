// What reference.ts computes, on a GPU: layer normalisation by rows in float64. Trusted code:
// it says what right is for shapes that take too long on a host, so it is as plain as it can be at that size.
//
// A CTA owns a row and goes over it three times: for the mean, for the variance, and to write.
#include <cuda_fp16.h>

constexpr int THREADS = 256;

// All threads get the sum of every thread's value, added in the same order whatever the schedule.
__device__ double total(double value) {
  __shared__ double values[THREADS];
  values[threadIdx.x] = value;
  __syncthreads();
  for (int half = THREADS / 2; half > 0; half /= 2) {
    if (threadIdx.x < half) values[threadIdx.x] += values[threadIdx.x + half];
    __syncthreads();
  }
  const double result = values[0];
  __syncthreads();  // before the next call overwrites them
  return result;
}

// eps is the fp32 scalar that kernels are given.
__global__ void __launch_bounds__(THREADS)
    layernorm(const half* X, const half* gamma, const half* beta, double* Y_exact, int N, float eps) {
  const size_t row = static_cast<size_t>(blockIdx.x) * N;
  const auto at = [](const half* values, size_t i) { return static_cast<double>(__half2float(values[i])); };
  double sum = 0.0;
  for (int c = threadIdx.x; c < N; c += THREADS) sum += at(X, row + c);
  const double mean = total(sum) / N;
  double squares = 0.0;
  for (int c = threadIdx.x; c < N; c += THREADS) squares += (at(X, row + c) - mean) * (at(X, row + c) - mean);
  const double inverseDeviation = 1.0 / sqrt(total(squares) / N + static_cast<double>(eps));
  for (int c = threadIdx.x; c < N; c += THREADS) {
    const double normalised = (at(X, row + c) - mean) * inverseDeviation;
    Y_exact[row + c] = normalised * at(gamma, c) + at(beta, c);
  }
}
