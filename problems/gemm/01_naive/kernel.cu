// 01_naive: one thread computes one element of C.
//
// Idea      The formula read aloud: a thread walks along a row of A and down a column of B. Neighbouring threads own
//           neighbouring columns, so reads of B and writes of C are coalesced and reads of A are the same for a warp.
// Change    None: this is the start of the ladder.
// Layouts   A [M, K], B [K, N], C [M, N], row-major, elements of type DTYPE (float, half or bf16). One launch,
//           grid = (ceil(N / BLOCK_N), ceil(M / BLOCK_M)), block = (BLOCK_N, BLOCK_M).
// Tile      BLOCK_M x BLOCK_N elements of C per CTA; nothing is shared but what happens to lie in L1.
// Resources No shared memory; one accumulator and the two addresses, about 30 registers.
// Bound     Two global loads per multiply-add: M N K / 16 warp requests. At 512^3: 8.4 M over the 58 SMs of an L4, one
//           every two clocks each, is 290 k clocks = 0.17 ms at 1.7 GHz, against 9 us for the arithmetic (268 MFLOP at
//           30 TFLOP/s). Wide CTAs need more rows of B's tile per request of A, tall ones the reverse: both come from
//           L1, N / BLOCK_N + M / BLOCK_M times in all.
// Limits    Any M, N, K >= 1; M <= 4 * 65535 (grid.y).
#include <cuda_bf16.h>
#include <cuda_fp16.h>

using Element = DTYPE;

constexpr int kBlockM = BLOCK_M;
constexpr int kBlockN = BLOCK_N;
constexpr int kThreads = kBlockM * kBlockN;
static_assert(kThreads % 32 == 0 && kThreads <= 1024, "a CTA has whole warps, and 1024 threads at most");

__device__ float to_float(float value) { return value; }
__device__ float to_float(half value) { return __half2float(value); }
__device__ float to_float(__nv_bfloat16 value) { return __bfloat162float(value); }
__device__ void store(float* address, float value) { *address = value; }
__device__ void store(half* address, float value) { *address = __float2half(value); }
__device__ void store(__nv_bfloat16* address, float value) { *address = __float2bfloat16(value); }

extern "C" __global__ void __launch_bounds__(kThreads)
    gemm(const Element* __restrict__ A,  // [M, K]
         const Element* __restrict__ B,  // [K, N]
         Element* __restrict__ C,        // [M, N]
         int M, int N, int K) {
  const int row = blockIdx.y * kBlockM + threadIdx.y;
  const int column = blockIdx.x * kBlockN + threadIdx.x;
  if (row >= M || column >= N) return;

  const Element* A_row = A + static_cast<size_t>(row) * K;
  const Element* B_column = B + column;
  float sum = 0.0f;
  for (int k = 0; k < K; ++k) {
    sum += to_float(A_row[k]) * to_float(*B_column);
    B_column += N;
  }
  store(C + static_cast<size_t>(row) * N + column, sum);
}
