// 04_vectorised: 16-byte accesses everywhere; blocks of 4 x 4 turn in registers, the tile of blocks in shared memory.
//
// Idea      A thread reads 4 neighbouring elements of each of 4 rows, turns this block in its registers, and stores its 4
//           columns as vectors into a tile that lies in shared memory as it will lie in Y. Then it reads and writes
//           vectors along the rows of Y. A quarter of the instructions move the same bytes.
// Change    From 03_padded: vectors. Padding a row by less than a vector would break their alignment, so the tile is
//           swizzled instead: the vector for rows 4 g ... 4 g + 3 of X lies at place g ^ (column / 4 % 8) of its row, and
//           the 8 lanes that store at once, which have 8 neighbouring values of column / 4, meet all 32 banks.
// Layouts   X [M, N], Y [N, M], fp32, row-major. One launch, grid = (ceil(N / BLOCK_N), ceil(M / BLOCK_M)),
//           block = BLOCK_M BLOCK_N / (4 ROWS_PER_THREAD). The tile is [BLOCK_N][BLOCK_M].
// Tile      BLOCK_M rows x BLOCK_N columns of X per CTA, ROWS_PER_THREAD / 4 blocks of 4 x 4 per thread.
// Resources Shared bytes: 4 BLOCK_M BLOCK_N, 16 KiB for 64 x 64. About 32 registers: a block and its addresses.
// Bound     DRAM: 17 MB for 1024 x 2048 are 61 us on an L4 at 276 GB/s, 3.8 us on an H200 at 4.4 TB/s. Per 16 elements a
//           thread executes 16 memory instructions instead of 03's 64, with 4 loads of 16 bytes in flight.
// Limits    Any M, N >= 1; M <= 32 * 65535 (grid.y). Rows that do not start on 16 bytes (M % 4 or N % 4 not 0) are read and
//           written element by element: transpose<false>.
constexpr int kBlockM = BLOCK_M;                 // rows of X per CTA
constexpr int kBlockN = BLOCK_N;                 // columns of X per CTA
constexpr int kRowsPerThread = ROWS_PER_THREAD;  // of X; 4 columns each
constexpr int kWidth = 4;                        // fp32 of a 16-byte vector; side of a block
constexpr int kBlocksPerThread = kRowsPerThread / kWidth;
constexpr int kThreads = kBlockM * kBlockN / (kWidth * kRowsPerThread);
constexpr int kGroupsM = kBlockM / kWidth;
constexpr int kGroupsN = kBlockN / kWidth;
constexpr int kSwizzle = 8;  // lanes that access 16 bytes each at the same time
static_assert(kRowsPerThread % kWidth == 0, "a thread moves whole blocks");
static_assert(kThreads * kWidth * kRowsPerThread == kBlockM * kBlockN, "threads must share the tile evenly");
static_assert(kThreads % 32 == 0 && kThreads <= 1024, "a CTA has whole warps, and 1024 threads at most");
static_assert(kGroupsM % kSwizzle == 0, "swizzled places must stay in their row");

struct alignas(16) Vector {
  float element[kWidth];
};

// A row of the tile belongs to a column of X and holds a vector for every 4 rows of X.
__device__ Vector& place(Vector (&tile)[kBlockN][kGroupsM], int column, int row_group) {
  return tile[column][row_group ^ (column / kWidth % kSwizzle)];
}

// Elements [row, column ...] of a matrix [rows, columns]; what lies beyond it is left alone.
template <bool kAligned>
__device__ void load(Vector& vector, const float* __restrict__ matrix, int row, int column, int rows, int columns) {
  if (row >= rows) return;
  const float* address = matrix + static_cast<size_t>(row) * columns + column;
  if constexpr (kAligned) {
    if (column < columns) vector = *reinterpret_cast<const Vector*>(address);
  } else {
#pragma unroll
    for (int i = 0; i < kWidth; ++i) {
      if (column + i < columns) vector.element[i] = address[i];
    }
  }
}

template <bool kAligned>
__device__ void store(float* __restrict__ matrix, const Vector& vector, int row, int column, int rows, int columns) {
  if (row >= rows) return;
  float* address = matrix + static_cast<size_t>(row) * columns + column;
  if constexpr (kAligned) {
    if (column < columns) *reinterpret_cast<Vector*>(address) = vector;
  } else {
#pragma unroll
    for (int i = 0; i < kWidth; ++i) {
      if (column + i < columns) address[i] = vector.element[i];
    }
  }
}

template <bool kAligned>
__global__ void __launch_bounds__(kThreads)
    transpose(const float* __restrict__ X,  // [M, N]
              float* __restrict__ Y,        // [N, M]
              int M, int N) {
  __shared__ Vector tile[kBlockN][kGroupsM];
  const int first_row = blockIdx.y * kBlockM;
  const int first_column = blockIdx.x * kBlockN;

#pragma unroll
  for (int b = 0; b < kBlocksPerThread; ++b) {
    const int block = threadIdx.x + b * kThreads;
    const int column = block % kGroupsN * kWidth;
    const int row_group = block / kGroupsN;
    Vector rows[kWidth] = {};
#pragma unroll
    for (int r = 0; r < kWidth; ++r) {
      load<kAligned>(rows[r], X, first_row + row_group * kWidth + r, first_column + column, M, N);
    }
#pragma unroll
    for (int c = 0; c < kWidth; ++c) {
      Vector turned;
#pragma unroll
      for (int r = 0; r < kWidth; ++r) turned.element[r] = rows[r].element[c];
      place(tile, column + c, row_group) = turned;
    }
  }
  __syncthreads();

#pragma unroll
  for (int i = 0; i < kRowsPerThread; ++i) {
    const int vector = threadIdx.x + i * kThreads;
    const int column = vector / kGroupsM;
    const int row_group = vector % kGroupsM;
    store<kAligned>(Y, place(tile, column, row_group), first_column + column, first_row + row_group * kWidth, N, M);
  }
}

template __global__ void transpose<true>(const float*, float*, int, int);
template __global__ void transpose<false>(const float*, float*, int, int);
