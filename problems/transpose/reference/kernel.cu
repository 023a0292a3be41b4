// What reference.ts computes, on a GPU: Y[n, m] = X[m, n], as plain as it can be. Trusted code: it says what right is for
// shapes that take long on a host.
extern "C" __global__ void __launch_bounds__(256) transpose(const float* X, double* Y_exact, int M, int N) {
  const size_t element = static_cast<size_t>(blockIdx.x) * blockDim.x + threadIdx.x;  // of Y
  const size_t count = static_cast<size_t>(M) * N;
  if (element < count) Y_exact[element] = static_cast<double>(X[element % M * N + element / M]);
}
