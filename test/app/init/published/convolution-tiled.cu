// 1D convolution with a mask in constant memory and a tile with halos in shared memory.
#include <cuda_runtime.h>
#include <cstdlib>

#define MASK_WIDTH 7
#define TILE_SIZE 128

__constant__ float mask[MASK_WIDTH];

__global__ void convolution(const float *in, float *out, int n) {
  __shared__ float tile[TILE_SIZE + MASK_WIDTH - 1];
  const int i = blockIdx.x * TILE_SIZE + threadIdx.x;
  const int radius = MASK_WIDTH / 2;
  for (int t = threadIdx.x; t < TILE_SIZE + MASK_WIDTH - 1; t += TILE_SIZE) {
    const int from = blockIdx.x * TILE_SIZE + t - radius;
    tile[t] = from >= 0 && from < n ? in[from] : 0.0f;
  }
  __syncthreads();
  float sum = 0.0f;
  for (int j = 0; j < MASK_WIDTH; j++) sum += tile[threadIdx.x + j] * mask[j];
  if (i < n) out[i] = sum;
}

int main() {
  int n = 100000;
  float h_mask[MASK_WIDTH], *d_in, *d_out, *h = (float *)malloc(n * sizeof(float));
  cudaMalloc(&d_in, n * sizeof(float));
  cudaMalloc(&d_out, n * sizeof(float));
  cudaMemcpyToSymbol(mask, h_mask, MASK_WIDTH * sizeof(float));
  convolution<<<(n + TILE_SIZE - 1) / TILE_SIZE, TILE_SIZE>>>(d_in, d_out, n);
  cudaMemcpy(h, d_out, n * sizeof(float), cudaMemcpyDeviceToHost);
  return 0;
}
