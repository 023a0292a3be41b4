#include <cuda_fp16.h>

constexpr int TILE = 16;

// The tiled product of lesson 7: a block computes 16 x 16 elements of C, a
// thread one of them. Products of halves are added up in fp32.
__global__ void multiply(const half* __restrict__ A, const half* __restrict__ B, float* __restrict__ C,
                         int M, int N, int K) {
  __shared__ half a[TILE][TILE];
  __shared__ half b[TILE][TILE];
  const int x = threadIdx.x, y = threadIdx.y;
  const int row = blockIdx.y * TILE + y, column = blockIdx.x * TILE + x;
  float sum = 0.0f;
  for (int first = 0; first < K; first += TILE) {
    a[y][x] = A[row * K + first + x];
    b[y][x] = B[(first + y) * N + column];
    __syncthreads();
    for (int k = 0; k < TILE; k++)
      sum += __half2float(a[y][k]) * __half2float(b[k][x]);
    __syncthreads();
  }
  C[row * N + column] = sum;
}
