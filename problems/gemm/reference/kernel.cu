// What reference.ts computes, on a GPU: C = A · B, summed in float64. Trusted code: it says what right is for shapes that
// take too long on a host, so it is as plain as it can be at that size.
//
// A CTA owns TILE × TILE elements of C and goes along K TILE terms at a time; a thread owns 4 × 4 elements, SIDE apart.
#include <cuda_bf16.h>
#include <cuda_fp16.h>

using Element = DTYPE;

constexpr int TILE = 64;   // rows and columns of a CTA
constexpr int DEPTH = 16;  // terms of a tile
constexpr int SIDE = 16;   // threads along rows and along columns
constexpr int THREADS = SIDE * SIDE;
constexpr int EACH = TILE / SIDE;

__device__ double to_double(float value) { return static_cast<double>(value); }
__device__ double to_double(half value) { return static_cast<double>(__half2float(value)); }
__device__ double to_double(__nv_bfloat16 value) { return static_cast<double>(__bfloat162float(value)); }

extern "C" __global__ void __launch_bounds__(THREADS)
    gemm(const Element* A, const Element* B, double* C_exact, int M, int N, int K) {
  __shared__ double a[DEPTH][TILE + 1], b[DEPTH][TILE + 1];
  const int firstRow = blockIdx.y * TILE, firstColumn = blockIdx.x * TILE;
  const int rowThread = threadIdx.x / SIDE, columnThread = threadIdx.x % SIDE;

  double sum[EACH][EACH] = {};
  for (int firstTerm = 0; firstTerm < K; firstTerm += DEPTH) {
    for (int i = threadIdx.x; i < TILE * DEPTH; i += THREADS) {
      const int row = firstRow + i / DEPTH, term = firstTerm + i % DEPTH;
      const bool inside = row < M && term < K;
      a[i % DEPTH][i / DEPTH] = inside ? to_double(A[static_cast<size_t>(row) * K + term]) : 0.0;
    }
    for (int i = threadIdx.x; i < DEPTH * TILE; i += THREADS) {
      const int term = firstTerm + i / TILE, column = firstColumn + i % TILE;
      const bool inside = term < K && column < N;
      b[i / TILE][i % TILE] = inside ? to_double(B[static_cast<size_t>(term) * N + column]) : 0.0;
    }
    __syncthreads();
    for (int term = 0; term < DEPTH; ++term) {
      #pragma unroll
      for (int r = 0; r < EACH; ++r) {
        #pragma unroll
        for (int c = 0; c < EACH; ++c) sum[r][c] += a[term][rowThread + SIDE * r] * b[term][columnThread + SIDE * c];
      }
    }
    __syncthreads();
  }

  #pragma unroll
  for (int r = 0; r < EACH; ++r) {
    #pragma unroll
    for (int c = 0; c < EACH; ++c) {
      const int row = firstRow + rowThread + SIDE * r, column = firstColumn + columnThread + SIDE * c;
      if (row >= M || column >= N) continue;
      C_exact[static_cast<size_t>(row) * N + column] = sum[r][c];
    }
  }
}
