constexpr int TILE = 64;   // rows and columns of C per block
constexpr int DEPTH = 16;  // columns of A, rows of B per step
constexpr int PATCH = 4;   // rows and columns of C per thread

// 16 x 16 threads, each with a patch of 4 x 4 results in registers. A lies transposed in shared memory.
__global__ void multiply(const float* __restrict__ A, const float* __restrict__ B, float* __restrict__ C,
                         int M, int N, int K) {
  __shared__ float a[DEPTH][TILE + 4];
  __shared__ float b[DEPTH][TILE];
  const int t = threadIdx.y * 16 + threadIdx.x;
  const int firstRow = blockIdx.y * TILE, firstColumn = blockIdx.x * TILE;
  float sums[PATCH][PATCH] = {};
  for (int first = 0; first < K; first += DEPTH) {
    for (int i = t; i < TILE * DEPTH; i += 256) {
      const int row = firstRow + i / DEPTH, k = first + i % DEPTH;
      a[i % DEPTH][i / DEPTH] = row < M && k < K ? A[row * K + k] : 0.0f;
    }
    for (int i = t; i < TILE * DEPTH; i += 256) {
      const int k = first + i / TILE, column = firstColumn + i % TILE;
      b[i / TILE][i % TILE] = k < K && column < N ? B[k * N + column] : 0.0f;
    }
    __syncthreads();
    for (int k = 0; k < DEPTH; k++) {
      float left[PATCH], right[PATCH];
      for (int i = 0; i < PATCH; i++) left[i] = a[k][threadIdx.y * PATCH + i];
      for (int j = 0; j < PATCH; j++) right[j] = b[k][threadIdx.x * PATCH + j];
      for (int i = 0; i < PATCH; i++)
        for (int j = 0; j < PATCH; j++) sums[i][j] += left[i] * right[j];
    }
    __syncthreads();
  }
  for (int i = 0; i < PATCH; i++) {
    for (int j = 0; j < PATCH; j++) {
      const int row = firstRow + threadIdx.y * PATCH + i, column = firstColumn + threadIdx.x * PATCH + j;
      if (row < M && column < N) C[row * N + column] = sums[i][j];
    }
  }
}
