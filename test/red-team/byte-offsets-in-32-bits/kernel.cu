// A transpose whose offsets are unsigned bytes: beyond 4 GiB they begin again.
constexpr int kTile = 32;
constexpr int kRows = 8;

extern "C" __global__ void transpose(const char* __restrict__ X, char* __restrict__ Y, unsigned M, unsigned N) {
  __shared__ float tile[kTile][kTile + 1];
  const unsigned first_m = blockIdx.y * kTile, first_n = blockIdx.x * kTile;
  for (unsigned i = threadIdx.y; i < kTile; i += kRows) {
    const unsigned m = first_m + i, n = first_n + threadIdx.x;
    const unsigned offset = 4 * (m * N + n);
    if (m < M && n < N) tile[i][threadIdx.x] = *reinterpret_cast<const float*>(X + offset);
  }
  __syncthreads();
  for (unsigned i = threadIdx.y; i < kTile; i += kRows) {
    const unsigned n = first_n + i, m = first_m + threadIdx.x;
    const unsigned offset = 4 * (n * M + m);
    if (m < M && n < N) *reinterpret_cast<float*>(Y + offset) = tile[threadIdx.x][i];
  }
}
