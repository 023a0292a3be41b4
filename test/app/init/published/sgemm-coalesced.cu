// SGEMM 2: neighbouring threads read neighbouring columns; the block is one-dimensional.
#include <cuda_runtime.h>
#include <cstdlib>

#define CEIL_DIV(a, b) (((a) + (b)-1) / (b))

template <const uint BLOCKSIZE>
__global__ void sgemm_coalesced(int M, int N, int K, const float *A, const float *B, float *C) {
  const int row = blockIdx.x * BLOCKSIZE + (threadIdx.x / BLOCKSIZE);
  const int col = blockIdx.y * BLOCKSIZE + (threadIdx.x % BLOCKSIZE);
  if (row < M && col < N) {
    float sum = 0.0f;
    for (int i = 0; i < K; ++i) sum += A[row * K + i] * B[i * N + col];
    C[row * N + col] = sum;
  }
}

int main() {
  int M = 512, N = 512, K = 512;
  float *dA, *dB, *dC;
  float *C = (float *)malloc(M * N * sizeof(float));
  cudaMalloc(&dA, M * K * sizeof(float));
  cudaMalloc(&dB, K * N * sizeof(float));
  cudaMalloc(&dC, M * N * sizeof(float));
  dim3 grid(CEIL_DIV(M, 32), CEIL_DIV(N, 32));
  dim3 block(32 * 32);
  sgemm_coalesced<32><<<grid, block>>>(M, N, K, dA, dB, dC);
  cudaMemcpy(C, dC, M * N * sizeof(float), cudaMemcpyDeviceToHost);
  return 0;
}
