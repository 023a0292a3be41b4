#include <cuda_fp16.h>
#include <cuda_pipeline.h>
#include <mma.h>

using namespace nvcuda;

// A block computes 32 x 64 elements of C, each of its four warps 16 x 32.
constexpr int ROWS = 32, COLUMNS = 64, DEPTH = 32;
constexpr int PAD = 8;  // halves per row, against bank conflicts
constexpr int STAGES = 3;  // tiles in shared memory; all but one are on their way

struct Tiles {
  alignas(16) half a[ROWS][DEPTH + PAD];
  alignas(16) half b[DEPTH][COLUMNS + PAD];
};

__global__ void multiply(const half* __restrict__ A, const half* __restrict__ B, float* __restrict__ C,
                         int M, int N, int K) {
  __shared__ Tiles ring[STAGES];
  const int t = threadIdx.x, warp = t / 32;
  const int row = blockIdx.y * ROWS, column = blockIdx.x * COLUMNS;
  const int tiles = K / DEPTH;
  // Orders tile `index`, if there is one. Every call commits, so that the number of commits says which tile is complete.
  auto order = [&](int index) {
    if (index < tiles) {
      Tiles& tile = ring[index % STAGES];
      const int first = index * DEPTH, r = t / 4, k = t % 4 * 8;
      __pipeline_memcpy_async(&tile.a[r][k], &A[(row + r) * K + first + k], 16);
      for (int i = t; i < DEPTH * COLUMNS / 8; i += 128)
        __pipeline_memcpy_async(&tile.b[i / 8][i % 8 * 8], &B[(first + i / 8) * N + column + i % 8 * 8], 16);
    }
    __pipeline_commit();
  };
  wmma::fragment<wmma::accumulator, 16, 16, 16, float> c[2];
  for (auto& part : c) wmma::fill_fragment(part, 0.0f);

  for (int index = 0; index < STAGES - 1; index++) order(index);
  for (int index = 0; index < tiles; index++) {
    __pipeline_wait_prior(STAGES - 2);
    __syncthreads();  // all copies of this tile are there, and all warps are done with the one that is replaced now
    order(index + STAGES - 1);
    const Tiles& tile = ring[index % STAGES];
    for (int step = 0; step < DEPTH; step += 16) {
      wmma::fragment<wmma::matrix_a, 16, 16, 16, half, wmma::row_major> left;
      wmma::load_matrix_sync(left, &tile.a[warp / 2 * 16][step], DEPTH + PAD);
      for (int j = 0; j < 2; j++) {
        wmma::fragment<wmma::matrix_b, 16, 16, 16, half, wmma::row_major> right;
        wmma::load_matrix_sync(right, &tile.b[step][warp % 2 * 32 + j * 16], COLUMNS + PAD);
        wmma::mma_sync(c[j], left, right, c[j]);
      }
    }
  }
  for (int j = 0; j < 2; j++)
    wmma::store_matrix_sync(&C[(row + warp / 2 * 16) * N + column + warp % 2 * 32 + j * 16], c[j], N,
                            wmma::mem_row_major);
}
