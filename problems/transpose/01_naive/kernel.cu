// 01_naive: one thread moves one element.
//
// Idea      The formula read aloud. Neighbouring threads read neighbouring elements of a row of X and so write elements of
//           Y that are M apart.
// Change    None: this is the start of the ladder.
// Layouts   X [M, N], Y [N, M], fp32, row-major. One launch, grid = (ceil(N / BLOCK_N), ceil(M / BLOCK_M)),
//           block = (BLOCK_N, BLOCK_M).
// Tile      BLOCK_M x BLOCK_N elements per CTA; nothing is shared.
// Resources No shared memory; about 16 registers.
// Bound     Reads are coalesced: 4 sectors of 32 bytes per warp. Writes touch one sector per lane, 32 per warp, of which 4
//           bytes each are used: L2 takes 8 times the bytes of Y. At 1024 x 2048: 8.4 MB read and 67 MB written; at
//           854 B per clock of an L4's L2 that is 88 k clocks = 52 us at 1.7 GHz, against 17 MB / 276 GB/s = 61 us of DRAM
//           where nothing stays in L2. BLOCK_M = 8 rows per CTA let the CTA as a whole write whole sectors, if L1 and L2
//           put them together.
// Limits    Any M, N >= 1; M <= 2 * 65535 (grid.y).
extern "C" __global__ void __launch_bounds__(BLOCK_M * BLOCK_N)
    transpose(const float* __restrict__ X,  // [M, N]
              float* __restrict__ Y,        // [N, M]
              int M, int N) {
  const int row = blockIdx.y * BLOCK_M + threadIdx.y;
  const int column = blockIdx.x * BLOCK_N + threadIdx.x;
  if (row < M && column < N) Y[static_cast<size_t>(column) * M + row] = X[static_cast<size_t>(row) * N + column];
}
