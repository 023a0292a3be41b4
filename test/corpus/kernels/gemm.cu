#include <cuda_runtime.h>
#include <cuda_fp16.h>
#include <cuda_fp8.h>
#include <mma.h>
#include <cstdlib>
#include <iostream>
#include "helper_cuda.h"
using namespace nvcuda;

#define TILE 16
#define CEIL_DIV(M, N) (((M) + (N)-1) / (N))

__global__ void sgemm_naive(int M, int N, int K, float alpha, const float* A, const float* B, float beta, float* C) {
  const uint x = blockIdx.x * blockDim.x + threadIdx.x;
  const uint y = blockIdx.y * blockDim.y + threadIdx.y;
  if (x < M && y < N) {
    float tmp = 0.0;
    for (int i = 0; i < K; ++i) tmp += A[x * K + i] * B[i * N + y];
    C[x * N + y] = alpha * tmp + beta * C[x * N + y];
  }
}

__global__ void sgemm_tiled(const float* A, const float* B, float* C, int M, int N, int K) {
  __shared__ float As[TILE][TILE];
  __shared__ float Bs[TILE][TILE];
  int row = blockIdx.y * TILE + threadIdx.y, col = blockIdx.x * TILE + threadIdx.x;
  float acc = 0;
  for (int t = 0; t < (K + TILE - 1) / TILE; t++) {
    As[threadIdx.y][threadIdx.x] = row < M && t * TILE + threadIdx.x < K ? A[row * K + t * TILE + threadIdx.x] : 0.f;
    Bs[threadIdx.y][threadIdx.x] = col < N && t * TILE + threadIdx.y < K ? B[(t * TILE + threadIdx.y) * N + col] : 0.f;
    __syncthreads();
    for (int k = 0; k < TILE; k++) acc += As[threadIdx.y][k] * Bs[k][threadIdx.x];
    __syncthreads();
  }
  if (row < M && col < N) C[row * N + col] = acc;
}

template <const int BM, const int BN, const int BK, const int TM, const int TN>
__global__ void sgemm_2d(int M, int N, int K, const float* A, const float* B, float* C) {
  __shared__ float As[BM * BK];
  __shared__ float Bs[BK * BN];
  const int threadCol = threadIdx.x % (BN / TN), threadRow = threadIdx.x / (BN / TN);
  const uint threads = BM * BN / (TM * TN);
  A += blockIdx.y * BM * K;
  B += blockIdx.x * BN;
  C += blockIdx.y * BM * N + blockIdx.x * BN;
  float res[TM * TN] = {0.0}, regM[TM] = {0.0}, regN[TN] = {0.0};
  for (uint bk = 0; bk < K; bk += BK) {
    for (uint o = threadIdx.x; o < BM * BK; o += threads) As[o] = A[o / BK * K + o % BK];
    for (uint o = threadIdx.x; o < BK * BN; o += threads) Bs[o] = B[o / BN * N + o % BN];
    __syncthreads();
    A += BK;
    B += BK * N;
    for (uint d = 0; d < BK; ++d) {
      for (uint i = 0; i < TM; ++i) regM[i] = As[(threadRow * TM + i) * BK + d];
      for (uint i = 0; i < TN; ++i) regN[i] = Bs[d * BN + threadCol * TN + i];
      for (uint m = 0; m < TM; ++m)
        for (uint n = 0; n < TN; ++n) res[m * TN + n] += regM[m] * regN[n];
    }
    __syncthreads();
  }
  for (uint m = 0; m < TM; ++m)
    for (uint n = 0; n < TN; ++n) C[(threadRow * TM + m) * N + threadCol * TN + n] = res[m * TN + n];
}

__global__ void gemm_wmma(const half* a, const half* b, float* c, int M, int N, int K) {
  int warpM = (blockIdx.x * blockDim.x + threadIdx.x) / warpSize;
  int warpN = blockIdx.y * blockDim.y + threadIdx.y;
  wmma::fragment<wmma::matrix_a, 16, 16, 16, half, wmma::row_major> fa;
  wmma::fragment<wmma::matrix_b, 16, 16, 16, half, wmma::row_major> fb;
  wmma::fragment<wmma::accumulator, 16, 16, 16, float> acc;
  wmma::fill_fragment(acc, 0.0f);
  for (int k = 0; k < K; k += 16) {
    if (warpM * 16 < M && warpN * 16 < N) {
      wmma::load_matrix_sync(fa, a + warpM * 16 * K + k, K);
      wmma::load_matrix_sync(fb, b + k * N + warpN * 16, N);
      wmma::mma_sync(acc, fa, fb, acc);
    }
  }
  wmma::store_matrix_sync(c + warpM * 16 * N + warpN * 16, acc, N, wmma::mem_row_major);
}

__global__ void gemm_split_k(const float* A, const float* B, float* C, int M, int N, int K, int part) {
  int n = blockIdx.x * blockDim.x + threadIdx.x, m = blockIdx.y;
  if (n >= N) return;
  float acc = 0;
  for (int k = blockIdx.z * part; k < min(K, (int)(blockIdx.z + 1) * part); k++) acc += A[m * K + k] * B[k * N + n];
  atomicAdd(&C[m * N + n], acc);
}

__global__ void gemm_batched(const float* A, const float* B, float* C, int M, int N, int K) {
  const float* a = A + blockIdx.z * M * K;
  const float* b = B + blockIdx.z * K * N;
  int row = blockIdx.y * blockDim.y + threadIdx.y, col = blockIdx.x * blockDim.x + threadIdx.x;
  if (row >= M || col >= N) return;
  float sum = 0;
#pragma unroll 4
  for (int k = 0; k < K; k++) sum = fmaf(a[row * K + k], b[k * N + col], sum);
  C[(blockIdx.z * M + row) * N + col] = sum;
}

__global__ void gemm_int8(const int8_t* A, const int8_t* B, int* C, int M, int N, int K) {
  int row = blockIdx.y * blockDim.y + threadIdx.y, col = blockIdx.x * blockDim.x + threadIdx.x;
  if (row >= M || col >= N) return;
  const int* a = reinterpret_cast<const int*>(A + row * K);
  const int* b = reinterpret_cast<const int*>(B + col * K);  // B is stored by columns
  int acc = 0;
  for (int k = 0; k < K / 4; k++) acc = __dp4a(a[k], b[k], acc);
  C[row * N + col] = acc;
}

__global__ void gemv_q4(const uint8_t* W, const float* scale, const float* x, float* y, int rows, int cols) {
  int row = blockIdx.x * blockDim.y + threadIdx.y;
  if (row >= rows) return;
  float sum = 0;
  for (int c = threadIdx.x * 2; c < cols; c += 64) {
    uint8_t packed = W[(row * cols + c) / 2];
    float s = scale[(row * cols + c) / 32];
    sum += s * ((int)(packed & 15) - 8) * x[c] + s * ((int)(packed >> 4) - 8) * x[c + 1];
  }
  for (int o = 16; o; o >>= 1) sum += __shfl_xor_sync(0xffffffffu, sum, o);
  if (threadIdx.x == 0) y[row] = sum;
}

__global__ void gemv_fp8(const __nv_fp8_e4m3* W, const float* x, float* y, int cols) {
  float sum = 0;
  for (int c = threadIdx.x; c < cols; c += 32) sum += float(W[blockIdx.x * cols + c]) * x[c];
  for (int o = 16; o; o >>= 1) sum += __shfl_down_sync(~0u, sum, o);
  if (threadIdx.x == 0) y[blockIdx.x] = sum;
}

__global__ void gemv_vectorized(const float* __restrict__ W, const float* __restrict__ x, float* y, int cols) {
  const float4* w4 = reinterpret_cast<const float4*>(W + blockIdx.x * cols);
  const float4* x4 = reinterpret_cast<const float4*>(x);
  float sum = 0;
  for (int i = threadIdx.x; i < cols / 4; i += blockDim.x) {
    float4 w = __ldg(&w4[i]), v = __ldg(&x4[i]);
    sum += w.x * v.x + w.y * v.y + w.z * v.z + w.w * v.w;
  }
  __shared__ float s[64];
  s[threadIdx.x] = sum;
  __syncthreads();
  if (threadIdx.x == 0) {
    for (int i = 1; i < blockDim.x; i++) sum += s[i];
    y[blockIdx.x] = sum;
  }
}

int main() {
  checkCudaErrors(cudaSetDevice(0));
  float *A, *B, *C;
  cudaMallocManaged(&A, 4096 * 4096 * 4);
  dim3 grid(CEIL_DIV(4096, 64), CEIL_DIV(4096, 64));
  sgemm_2d<64, 64, 8, 8, 8><<<grid, 64>>>(4096, 4096, 4096, A, B, C);
  std::cout << C[0] << std::endl;
  return EXIT_SUCCESS;
}
