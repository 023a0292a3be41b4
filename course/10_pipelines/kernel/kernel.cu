#include <cuda_fp16.h>
#include <mma.h>

using namespace nvcuda;

// A block computes 32 x 64 elements of C, each of its four warps 16 x 32.
constexpr int ROWS = 32, COLUMNS = 64, DEPTH = 32;
constexpr int PAD = 8;  // halves per row, against bank conflicts


// Copies 8 halves, 16 bytes, through registers.
__device__ void copy8(half* to, const half* from) {
  *reinterpret_cast<uint4*>(to) = *reinterpret_cast<const uint4*>(from);
}

__global__ void multiply(const half* __restrict__ A, const half* __restrict__ B, float* __restrict__ C,
                         int M, int N, int K) {
  __shared__ alignas(16) half a[ROWS][DEPTH + PAD];
  __shared__ alignas(16) half b[DEPTH][COLUMNS + PAD];
  const int t = threadIdx.x, warp = t / 32;
  const int row = blockIdx.y * ROWS, column = blockIdx.x * COLUMNS;
  wmma::fragment<wmma::accumulator, 16, 16, 16, float> c[2];
  for (auto& part : c) wmma::fill_fragment(part, 0.0f);

  for (int first = 0; first < K; first += DEPTH) {
    // Fetch a tile of A and one of B, through registers into shared memory.
    const int r = t / 4, k = t % 4 * 8;
    copy8(&a[r][k], &A[(row + r) * K + first + k]);
    for (int i = t; i < DEPTH * COLUMNS / 8; i += 128)
      copy8(&b[i / 8][i % 8 * 8], &B[(first + i / 8) * N + column + i % 8 * 8]);
    __syncthreads();
    // Multiply them.
    for (int step = 0; step < DEPTH; step += 16) {
      wmma::fragment<wmma::matrix_a, 16, 16, 16, half, wmma::row_major> left;
      wmma::load_matrix_sync(left, &a[warp / 2 * 16][step], DEPTH + PAD);
      for (int j = 0; j < 2; j++) {
        wmma::fragment<wmma::matrix_b, 16, 16, 16, half, wmma::row_major> right;
        wmma::load_matrix_sync(right, &b[step][warp % 2 * 32 + j * 16], COLUMNS + PAD);
        wmma::mma_sync(c[j], left, right, c[j]);
      }
    }
    __syncthreads();
  }
  for (int j = 0; j < 2; j++)
    wmma::store_matrix_sync(&C[(row + warp / 2 * 16) * N + column + warp % 2 * 32 + j * 16], c[j], N,
                            wmma::mem_row_major);
}
