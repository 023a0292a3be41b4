// SGEMM 6: 16-byte loads, and the tile of A transposed in shared memory.
#include <cuda_runtime.h>
#include <cstdlib>

constexpr int BM = 64;
constexpr int BN = 64;
constexpr int BK = 8;
constexpr int TM = 8;
constexpr int TN = 4;

__global__ void sgemm_vectorized(int M, int N, int K, const float *A, const float *B, float *C) {
  const int threadCol = threadIdx.x % (BN / TN);
  const int threadRow = threadIdx.x / (BN / TN);
  __shared__ float As[BM * BK];
  __shared__ float Bs[BK * BN];
  A += blockIdx.y * BM * K;
  B += blockIdx.x * BN;
  C += blockIdx.y * BM * N + blockIdx.x * BN;
  const int rowA = threadIdx.x / (BK / 4), colA = threadIdx.x % (BK / 4);
  const int rowB = threadIdx.x / (BN / 4), colB = threadIdx.x % (BN / 4);
  float results[TM * TN] = {0.0f};
  float regM[TM], regN[TN];
  for (int bk = 0; bk < K; bk += BK) {
    float4 a = reinterpret_cast<const float4 *>(&A[rowA * K + colA * 4])[0];
    As[(colA * 4 + 0) * BM + rowA] = a.x;
    As[(colA * 4 + 1) * BM + rowA] = a.y;
    As[(colA * 4 + 2) * BM + rowA] = a.z;
    As[(colA * 4 + 3) * BM + rowA] = a.w;
    reinterpret_cast<float4 *>(&Bs[rowB * BN + colB * 4])[0] = reinterpret_cast<const float4 *>(&B[rowB * N + colB * 4])[0];
    __syncthreads();
    A += BK;
    B += BK * N;
    for (int dot = 0; dot < BK; ++dot) {
      for (int i = 0; i < TM; ++i) regM[i] = As[dot * BM + threadRow * TM + i];
      for (int i = 0; i < TN; ++i) regN[i] = Bs[dot * BN + threadCol * TN + i];
      for (int m = 0; m < TM; ++m)
        for (int n = 0; n < TN; ++n) results[m * TN + n] += regM[m] * regN[n];
    }
    __syncthreads();
  }
  for (int m = 0; m < TM; ++m)
    for (int n = 0; n < TN; n += 4) {
      float4 c = make_float4(results[m * TN + n], results[m * TN + n + 1], results[m * TN + n + 2], results[m * TN + n + 3]);
      reinterpret_cast<float4 *>(&C[(threadRow * TM + m) * N + threadCol * TN + n])[0] = c;
    }
}

int main() {
  int M = 512, N = 512, K = 512;
  float *dA, *dB, *dC;
  float *C = (float *)malloc(M * N * sizeof(float));
  cudaMalloc(&dA, M * K * sizeof(float));
  cudaMalloc(&dB, K * N * sizeof(float));
  cudaMalloc(&dC, M * N * sizeof(float));
  dim3 grid(N / BN, M / BM);
  sgemm_vectorized<<<grid, BM * BN / (TM * TN)>>>(M, N, K, dA, dB, dC);
  cudaMemcpy(C, dC, M * N * sizeof(float), cudaMemcpyDeviceToHost);
  return 0;
}
