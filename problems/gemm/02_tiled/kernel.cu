// 02_tiled: tiles of A and B in shared memory.
//
// Idea      The BLOCK_M x BLOCK_N elements of a CTA need only BLOCK_M rows of A and BLOCK_N columns of B. They walk
//           along K together, BLOCK_K at a time: all threads copy the two tiles into shared memory, each element once
//           and coalesced, then every thread reads its row and column from there.
// Change    From 01_naive: an element of A is read from global memory once per BLOCK_N columns instead of once per
//           column, an element of B once per BLOCK_M rows.
// Layouts   A [M, K], B [K, N], C [M, N], row-major, elements of type DTYPE (float, half or bf16). One launch,
//           grid = (ceil(N / BLOCK_N), ceil(M / BLOCK_M)), block = (BLOCK_N, BLOCK_M). Tiles are fp32 in shared memory,
//           whatever the element, so that a conversion is paid once per load; beyond the matrices they hold zeros.
// Tile      BLOCK_M x BLOCK_N elements of C per CTA, one per thread; BLOCK_K terms between barriers.
// Resources Shared bytes: 4 BLOCK_K (BLOCK_M + BLOCK_N): 4 KiB for 32 x 32 x 16. About 35 registers.
// Bound     Still two loads per multiply-add, now from shared memory: one wavefront of B per warp and term, and one of A
//           (a broadcast; the compiler may read several terms at once). At 512^3, 4.2 M warp multiply-adds are 8.4 M
//           wavefronts; over 58 SMs at one per clock 145 k clocks = 85 us on an L4 at 1.7 GHz, half of 01's requests.
// Limits    Any M, N, K >= 1; M <= 4 * 65535 (grid.y).
#include <cuda_bf16.h>
#include <cuda_fp16.h>

using Element = DTYPE;

constexpr int kBlockM = BLOCK_M;
constexpr int kBlockN = BLOCK_N;
constexpr int kBlockK = BLOCK_K;
constexpr int kThreads = kBlockM * kBlockN;
static_assert(kThreads % 32 == 0 && kThreads <= 1024, "a CTA has whole warps, and 1024 threads at most");

__device__ float to_float(float value) { return value; }
__device__ float to_float(half value) { return __half2float(value); }
__device__ float to_float(__nv_bfloat16 value) { return __bfloat162float(value); }
__device__ void store(float* address, float value) { *address = value; }
__device__ void store(half* address, float value) { *address = __float2half(value); }
__device__ void store(__nv_bfloat16* address, float value) { *address = __float2bfloat16(value); }

// Copies the kRows x kColumns tile at (first_row, first_column) of a matrix [rows, columns]; zeros beyond the matrix.
template <int kRows, int kColumns>
__device__ void load_tile(float (&tile)[kRows][kColumns], const Element* __restrict__ matrix, int first_row,
                          int first_column, int rows, int columns) {
  const int thread = threadIdx.y * kBlockN + threadIdx.x;
  for (int i = thread; i < kRows * kColumns; i += kThreads) {
    const int row = first_row + i / kColumns;
    const int column = first_column + i % kColumns;
    const bool inside = row < rows && column < columns;
    tile[i / kColumns][i % kColumns] = inside ? to_float(matrix[static_cast<size_t>(row) * columns + column]) : 0.0f;
  }
}

extern "C" __global__ void __launch_bounds__(kThreads)
    gemm(const Element* __restrict__ A,  // [M, K]
         const Element* __restrict__ B,  // [K, N]
         Element* __restrict__ C,        // [M, N]
         int M, int N, int K) {
  __shared__ float A_smem[kBlockM][kBlockK];
  __shared__ float B_smem[kBlockK][kBlockN];

  const int first_row = blockIdx.y * kBlockM;
  const int first_column = blockIdx.x * kBlockN;
  float sum = 0.0f;
  for (int first_k = 0; first_k < K; first_k += kBlockK) {
    load_tile(A_smem, A, first_row, first_k, M, K);
    load_tile(B_smem, B, first_k, first_column, K, N);
    __syncthreads();  // the tiles are complete
#pragma unroll
    for (int k = 0; k < kBlockK; ++k) sum += A_smem[threadIdx.y][k] * B_smem[k][threadIdx.x];
    __syncthreads();  // every thread is done with them
  }

  const int row = first_row + threadIdx.y;
  const int column = first_column + threadIdx.x;
  if (row < M && column < N) store(C + static_cast<size_t>(row) * N + column, sum);
}
