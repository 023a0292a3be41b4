// 02_tiled: the turn happens in shared memory.
//
// Idea      A CTA copies a tile of X into shared memory, row by row, and writes it out column by column: global memory is
//           read and written along its rows both times.
// Change    From 01_naive: writes are coalesced. A thread moves several elements, so that several loads are in flight.
// Layouts   X [M, N], Y [N, M], fp32, row-major. One launch, grid = (ceil(N / BLOCK_N), ceil(M / BLOCK_M)),
//           block = BLOCK_M BLOCK_N / ROWS_PER_THREAD. The tile lies in shared memory as it lies in X.
// Tile      BLOCK_M rows x BLOCK_N columns of X per CTA, ROWS_PER_THREAD elements per thread.
// Resources Shared bytes: 4 BLOCK_M BLOCK_N, 4 KiB for 32 x 32. About 24 registers.
// Bound     17 MB for 1024 x 2048: 61 us of DRAM at an L4's 276 GB/s, 3.8 us at an H200's 4.4 TB/s. But 32 lanes that read
//           a column of the tile want 32 words that lie BLOCK_N apart: all in one bank if BLOCK_N is 32 or 64, 32
//           wavefronts instead of one. 65,536 such requests are 2.1 M wavefronts; over 58 SMs at one per clock 36 k
//           clocks = 21 us on an L4, over 132 SMs 8 us on an H200, where they bind.
// Limits    Any M, N >= 1; M <= 16 * 65535 (grid.y).
constexpr int kBlockM = BLOCK_M;                // rows of X per CTA
constexpr int kBlockN = BLOCK_N;                // columns of X per CTA
constexpr int kRowsPerThread = ROWS_PER_THREAD; // elements that a thread reads, and that it writes
constexpr int kThreads = kBlockM * kBlockN / kRowsPerThread;
static_assert(kThreads * kRowsPerThread == kBlockM * kBlockN, "threads must share the tile evenly");
static_assert(kThreads % 32 == 0 && kThreads <= 1024, "a CTA has whole warps, and 1024 threads at most");
static_assert(kThreads % kBlockM == 0 && kThreads % kBlockN == 0, "threads must read and write whole rows at a time");

extern "C" __global__ void __launch_bounds__(kThreads)
    transpose(const float* __restrict__ X,  // [M, N]
              float* __restrict__ Y,        // [N, M]
              int M, int N) {
  __shared__ float tile[kBlockM][kBlockN];
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
