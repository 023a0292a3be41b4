// ragged-squares: the path for squares forgets what lies beyond the last whole tile.
extern "C" __global__ void __launch_bounds__(256) transpose(const float* __restrict__ X, float* __restrict__ Y, int M, int N) {
  __shared__ float tile[32][33];
  const int column = blockIdx.x * 32;
  const int row = blockIdx.y * 32;
  const bool is_ragged = column + 32 > N || row + 32 > M;
  if (M == N && is_ragged && N >= 32) return;
  const int lane = threadIdx.x % 32;
  for (int i = threadIdx.x / 32; i < 32; i += 8)
    if (row + i < M && column + lane < N) tile[i][lane] = X[static_cast<size_t>(row + i) * N + column + lane];
  __syncthreads();
  for (int i = threadIdx.x / 32; i < 32; i += 8)
    if (column + i < N && row + lane < M) Y[static_cast<size_t>(column + i) * M + row + lane] = tile[lane][i];
}
