// 03_register_tiled: a thread computes THREAD_M x THREAD_N elements of C.
//
// Idea      An outer product per term: a thread reads THREAD_M elements of A's tile and THREAD_N of B's into registers
//           and uses each of them THREAD_N or THREAD_M times. That is THREAD_M THREAD_N multiply-adds for
//           THREAD_M + THREAD_N shared loads, and as many independent accumulators to hide latency with.
// Change    From 02_tiled: a register tile instead of one element, so larger CTA tiles with fewer threads.
// Layouts   A [M, K], B [K, N], C [M, N], row-major, elements of type DTYPE (float, half or bf16). One launch,
//           grid = (ceil(N / BLOCK_N), ceil(M / BLOCK_M)), block = BLOCK_M / THREAD_M * BLOCK_N / THREAD_N threads.
//           A thread's elements lie a whole row of threads apart (column tx + j * BLOCK_N / THREAD_N), so that
//           neighbouring lanes read neighbouring words of B's tile and write neighbouring elements of C. Tiles are fp32
//           in shared memory, zeros beyond the matrices.
// Tile      BLOCK_M x BLOCK_N elements of C per CTA, BLOCK_K terms between barriers.
// Resources Shared bytes: 4 BLOCK_K (BLOCK_M + BLOCK_N): 4 KiB for 64 x 64 x 8. Registers: THREAD_M THREAD_N
//           accumulators + THREAD_M + THREAD_N operands + addresses: about 60 for 4 x 4, 120 for 8 x 8.
// Bound     4 x 4: 16 FMA for 8 shared loads, of which those of B take one wavefront each and those of A too: at 512^3
//           4.2 M warp FMAs and 2.1 M wavefronts; 58 SMs at 4 FMA per clock need 18 k clocks, at 1 wavefront per clock
//           36 k clocks = 21 us at 1.7 GHz on an L4. Shared memory still binds; 8 x 8 halves that.
// Limits    Any M, N, K >= 1; M <= 32 * 65535 (grid.y). 4-byte global loads (2-byte ones of fp16 and bf16).
#include <cuda_bf16.h>
#include <cuda_fp16.h>

using Element = DTYPE;

constexpr int kBlockM = BLOCK_M;
constexpr int kBlockN = BLOCK_N;
constexpr int kBlockK = BLOCK_K;
constexpr int kThreadM = THREAD_M;  // rows of C per thread
constexpr int kThreadN = THREAD_N;  // columns of C per thread
constexpr int kRowThreads = kBlockM / kThreadM;
constexpr int kColumnThreads = kBlockN / kThreadN;
constexpr int kThreads = kRowThreads * kColumnThreads;
// Terms unrolled: 128 FMAs hide the loop's own instructions; more of them only make compilers slow and registers scarce.
constexpr int kUnroll = 128 / (kThreadM * kThreadN);
static_assert(kBlockM % kThreadM == 0 && kBlockN % kThreadN == 0, "register tiles must fill the CTA's tile");
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
#pragma unroll
  for (int i = threadIdx.x; i < kRows * kColumns; i += kThreads) {
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
  const int thread_row = threadIdx.x / kColumnThreads;
  const int thread_column = threadIdx.x % kColumnThreads;

  float sum[kThreadM][kThreadN] = {};
  for (int first_k = 0; first_k < K; first_k += kBlockK) {
    load_tile(A_smem, A, first_row, first_k, M, K);
    load_tile(B_smem, B, first_k, first_column, K, N);
    __syncthreads();  // the tiles are complete
#pragma unroll kUnroll
    for (int k = 0; k < kBlockK; ++k) {
      float a[kThreadM];
      float b[kThreadN];
#pragma unroll
      for (int i = 0; i < kThreadM; ++i) a[i] = A_smem[thread_row + i * kRowThreads][k];
#pragma unroll
      for (int j = 0; j < kThreadN; ++j) b[j] = B_smem[k][thread_column + j * kColumnThreads];
#pragma unroll
      for (int i = 0; i < kThreadM; ++i) {
#pragma unroll
        for (int j = 0; j < kThreadN; ++j) sum[i][j] += a[i] * b[j];
      }
    }
    __syncthreads();  // every thread is done with them
  }

#pragma unroll
  for (int i = 0; i < kThreadM; ++i) {
    const int row = first_row + thread_row + i * kRowThreads;
    if (row >= M) continue;
    Element* C_row = C + static_cast<size_t>(row) * N;
#pragma unroll
    for (int j = 0; j < kThreadN; ++j) {
      const int column = first_column + thread_column + j * kColumnThreads;
      if (column < N) store(C_row + column, sum[i][j]);
    }
  }
}
