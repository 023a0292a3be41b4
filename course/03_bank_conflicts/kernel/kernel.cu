constexpr int TILE = 32;

// A block moves a tile of 32 x 32 elements: it reads rows, turns the tile
// over in shared memory, and writes rows. The block is 32 x 8 threads.
__global__ void transpose(const float* __restrict__ X, float* __restrict__ Y, int rows, int columns) {
  __shared__ float tile[TILE][TILE];
  const int x = threadIdx.x;
  const int column = blockIdx.x * TILE + x;
  const int outColumn = blockIdx.y * TILE + x;
  for (int y = threadIdx.y; y < TILE; y += 8) {
    const int row = blockIdx.y * TILE + y;
    if (row < rows && column < columns)
      tile[y][x] = X[row * columns + column];
  }
  __syncthreads();
  for (int y = threadIdx.y; y < TILE; y += 8) {
    const int outRow = blockIdx.x * TILE + y;
    if (outRow < columns && outColumn < rows)
      Y[outRow * rows + outColumn] = tile[x][y];
  }
}
