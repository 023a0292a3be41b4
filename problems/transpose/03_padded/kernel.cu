// 03_padded: the rows of the tile start in different banks.
//
// Idea      PAD words at the end of every row of the tile: with 1, element [row][column] lies in bank row + column
//           (mod 32), so that the 32 lanes that read a column meet 32 banks.
// Change    From 02_tiled: the padding, and nothing else.
// Layouts   X [M, N], Y [N, M], fp32, row-major. One launch, grid = (ceil(N / BLOCK_N), ceil(M / BLOCK_M)),
//           block = BLOCK_M BLOCK_N / ROWS_PER_THREAD. Rows of the tile are BLOCK_N + PAD words apart.
// Tile      BLOCK_M rows x BLOCK_N columns of X per CTA, ROWS_PER_THREAD elements per thread.
// Resources Shared bytes: 4 BLOCK_M (BLOCK_N + PAD), 4.1 KiB for 32 x 32. About 24 registers.
// Bound     One wavefront for every read and write of the tile: 131,072 of them at 1024 x 2048, over 58 SMs 1.3 us. What is
//           left is DRAM: 17 MB are 61 us on an L4 at 276 GB/s, 3.8 us on an H200 at 4.4 TB/s; and there the latency of
//           ROWS_PER_THREAD loads, a barrier and as many stores per thread.
// Limits    Any M, N >= 1; M <= 16 * 65535 (grid.y).
constexpr int kBlockM = BLOCK_M;                // rows of X per CTA
constexpr int kBlockN = BLOCK_N;                // columns of X per CTA
constexpr int kRowsPerThread = ROWS_PER_THREAD; // elements that a thread reads, and that it writes
constexpr int kPad = PAD;                        // words added to a row of the tile
constexpr int kThreads = kBlockM * kBlockN / kRowsPerThread;
static_assert(kThreads * kRowsPerThread == kBlockM * kBlockN, "threads must share the tile evenly");
static_assert(kThreads % 32 == 0 && kThreads <= 1024, "a CTA has whole warps, and 1024 threads at most");
static_assert(kThreads % kBlockM == 0 && kThreads % kBlockN == 0, "threads must read and write whole rows at a time");

extern "C" __global__ void __launch_bounds__(kThreads)
    transpose(const float* __restrict__ X,  // [M, N]
              float* __restrict__ Y,        // [N, M]
              int M, int N) {
  __shared__ float tile[kBlockM][kBlockN + kPad];
  const int first_row = blockIdx.y * kBlockM;
  const int first_column = blockIdx.x * kBlockN;

  constexpr int kRowsAtOnce = kThreads / kBlockN;
  const int column = threadIdx.x % kBlockN;
#pragma unroll
  for (int i = 0; i < kRowsPerThread; ++i) {
    const int row = threadIdx.x / kBlockN + i * kRowsAtOnce;
    if (first_row + row < M && first_column + column < N) {
      tile[row][column] = X[static_cast<size_t>(first_row + row) * N + first_column + column];
    }
  }
  __syncthreads();

  // Now neighbouring threads stand below each other in the tile, and side by side in a row of Y.
  constexpr int kColumnsAtOnce = kThreads / kBlockM;
  const int row = threadIdx.x % kBlockM;
#pragma unroll
  for (int i = 0; i < kRowsPerThread; ++i) {
    const int column_of_x = threadIdx.x / kBlockM + i * kColumnsAtOnce;
    if (first_row + row < M && first_column + column_of_x < N) {
      Y[static_cast<size_t>(first_column + column_of_x) * M + first_row + row] = tile[row][column_of_x];
    }
  }
}
