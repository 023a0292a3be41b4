// SGEMM 5: every thread computes TM x TN results of a BM x BN tile.
#include <cassert>
#include <cuda_runtime.h>
#include <cstdlib>

#define CEIL_DIV(a, b) (((a) + (b)-1) / (b))

template <const int BM, const int BN, const int BK, const int TM, const int TN>
__global__ void sgemm_block2d(int M, int N, int K, const float *A, const float *B, float *C) {
  const uint totalResults = BM * BN;
  const uint threads = totalResults / (TM * TN);
  assert(threads == blockDim.x);
  const int threadCol = threadIdx.x % (BN / TN);
  const int threadRow = threadIdx.x / (BN / TN);
  __shared__ float As[BM * BK];
  __shared__ float Bs[BK * BN];
  A += blockIdx.y * BM * K;
  B += blockIdx.x * BN;
  C += blockIdx.y * BM * N + blockIdx.x * BN;
  const uint rowA = threadIdx.x / BK, colA = threadIdx.x % BK, strideA = threads / BK;
  const uint rowB = threadIdx.x / BN, colB = threadIdx.x % BN, strideB = threads / BN;
  float results[TM * TN] = {0.0};
  float regM[TM] = {0.0};
  float regN[TN] = {0.0};
  for (uint bk = 0; bk < K; bk += BK) {
    for (uint o = 0; o < BM; o += strideA) As[(rowA + o) * BK + colA] = A[(rowA + o) * K + colA];
    for (uint o = 0; o < BK; o += strideB) Bs[(rowB + o) * BN + colB] = B[(rowB + o) * N + colB];
    __syncthreads();
    A += BK;
    B += BK * N;
    for (uint dot = 0; dot < BK; ++dot) {
      for (uint i = 0; i < TM; ++i) regM[i] = As[(threadRow * TM + i) * BK + dot];
      for (uint i = 0; i < TN; ++i) regN[i] = Bs[dot * BN + threadCol * TN + i];
      for (uint m = 0; m < TM; ++m)
        for (uint n = 0; n < TN; ++n) results[m * TN + n] += regM[m] * regN[n];
    }
    __syncthreads();
  }
  for (uint m = 0; m < TM; ++m)
    for (uint n = 0; n < TN; ++n) C[(threadRow * TM + m) * N + threadCol * TN + n] = results[m * TN + n];
}

void run(int M, int N, int K, float *A, float *B, float *C) {
  const uint BK = 8;
  const uint TM = 4;
  const uint TN = 4;
  const uint BM = 64;
  const uint BN = 64;
  dim3 gridDim(CEIL_DIV(N, BN), CEIL_DIV(M, BM));
  dim3 blockDim((BM * BN) / (TM * TN));
  sgemm_block2d<BM, BN, BK, TM, TN><<<gridDim, blockDim>>>(M, N, K, A, B, C);
}

int main() {
  int M = 512, N = 512, K = 512;
  float *dA, *dB, *dC;
  float *C = (float *)malloc(M * N * sizeof(float));
  cudaMalloc(&dA, M * K * sizeof(float));
  cudaMalloc(&dB, K * N * sizeof(float));
  cudaMalloc(&dC, M * N * sizeof(float));
  run(M, N, K, dA, dB, dC);
  cudaMemcpy(C, dC, M * N * sizeof(float), cudaMemcpyDeviceToHost);
  return 0;
}
