extern "C" __global__ void serial(const double* a, const double* b, double* y, int R, int N) {
  const int row = blockIdx.x * blockDim.x + threadIdx.x;
  if (row >= R) return;
  double sum = 0.0;
  for (int c = 0; c < N; ++c) sum += a[row * N + c] * b[row * N + c];
  y[row] = sum;
}

extern "C" __global__ void warp_per_row(const double* a, const double* b, double* y, int R, int N) {
  const int row = blockIdx.x;
  double sum = 0.0;
  for (int c = threadIdx.x; c < N; c += 32) sum = fma(a[row * N + c], b[row * N + c], sum);
  for (int offset = 16; offset > 0; offset /= 2) sum += __shfl_xor_sync(0xffffffff, sum, offset);
  if (threadIdx.x == 0) y[row] = sum;
}
