// Softmax of rows, one CTA a row; dynamic shared memory for the reduction.
#include <cuda_runtime.h>
#include <cmath>
#include <cstdlib>

#define BLOCK 256

__global__ void softmax_rows(const float *x, float *y, int cols) {
  extern __shared__ float buffer[];
  const float *row = x + blockIdx.x * cols;
  float most = -INFINITY;
  for (int i = threadIdx.x; i < cols; i += BLOCK) most = fmaxf(most, row[i]);
  buffer[threadIdx.x] = most;
  __syncthreads();
  for (int s = BLOCK / 2; s > 0; s /= 2) {
    if (threadIdx.x < s) buffer[threadIdx.x] = fmaxf(buffer[threadIdx.x], buffer[threadIdx.x + s]);
    __syncthreads();
  }
  most = buffer[0];
  __syncthreads();
  float sum = 0.0f;
  for (int i = threadIdx.x; i < cols; i += BLOCK) sum += expf(row[i] - most);
  buffer[threadIdx.x] = sum;
  __syncthreads();
  for (int s = BLOCK / 2; s > 0; s /= 2) {
    if (threadIdx.x < s) buffer[threadIdx.x] += buffer[threadIdx.x + s];
    __syncthreads();
  }
  for (int i = threadIdx.x; i < cols; i += BLOCK) y[blockIdx.x * cols + i] = expf(row[i] - most) / buffer[0];
}

int main() {
  int rows = 512, cols = 768;
  float *d_x, *d_y, *h = (float *)malloc(rows * cols * sizeof(float));
  cudaMalloc(&d_x, rows * cols * sizeof(float));
  cudaMalloc(&d_y, rows * cols * sizeof(float));
  softmax_rows<<<rows, BLOCK, BLOCK * sizeof(float)>>>(d_x, d_y, cols);
  cudaMemcpy(h, d_y, rows * cols * sizeof(float), cudaMemcpyDeviceToHost);
  return 0;
}
