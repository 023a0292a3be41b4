#include <cuda_fp16.h>
#include <mma.h>

using namespace nvcuda;

constexpr int TILE = 16;

// A warp computes 16 x 16 elements of C; four warps of a block stand in a square, so that they share rows and columns in L1.
__global__ void multiply(const half* __restrict__ A, const half* __restrict__ B, float* __restrict__ C,
                         int M, int N, int K) {
  const int warp = threadIdx.x / 32;
  const int row = (blockIdx.y * 2 + warp / 2) * TILE, column = (blockIdx.x * 2 + warp % 2) * TILE;
  if (row >= M || column >= N) return;  // the same for all lanes of a warp
  wmma::fragment<wmma::matrix_a, TILE, TILE, TILE, half, wmma::row_major> a;
  wmma::fragment<wmma::matrix_b, TILE, TILE, TILE, half, wmma::row_major> b;
  wmma::fragment<wmma::accumulator, TILE, TILE, TILE, float> c;
  wmma::fill_fragment(c, 0.0f);
  for (int k = 0; k < K; k += TILE) {
    wmma::load_matrix_sync(a, A + row * K + k, K);
    wmma::load_matrix_sync(b, B + k * N + column, N);
    wmma::mma_sync(c, a, b, c);
  }
  wmma::store_matrix_sync(C + row * N + column, c, N, wmma::mem_row_major);
}
