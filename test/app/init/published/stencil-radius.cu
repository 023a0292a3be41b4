// 1D stencil: a radius that is a constant of the operation, and a block that is not.
#include <cuda_runtime.h>
#include <cstdlib>

#define RADIUS 3
#define BLOCK_SIZE 128

__global__ void stencil_1d(const int *in, int *out, int n) {
  __shared__ int temp[BLOCK_SIZE + 2 * RADIUS];
  int g = threadIdx.x + blockIdx.x * BLOCK_SIZE;
  int l = threadIdx.x + RADIUS;
  temp[l] = g < n ? in[g] : 0;
  if (threadIdx.x < RADIUS) {
    temp[l - RADIUS] = g >= RADIUS && g - RADIUS < n ? in[g - RADIUS] : 0;
    temp[l + BLOCK_SIZE] = g + BLOCK_SIZE < n ? in[g + BLOCK_SIZE] : 0;
  }
  __syncthreads();
  int result = 0;
  for (int o = -RADIUS; o <= RADIUS; o++) result += temp[l + o];
  if (g < n) out[g] = result;
}

int main() {
  const int n = 65536;
  int *d_in, *d_out, *h = (int *)malloc(n * sizeof(int));
  cudaMalloc(&d_in, n * sizeof(int));
  cudaMalloc(&d_out, n * sizeof(int));
  stencil_1d<<<(n + BLOCK_SIZE - 1) / BLOCK_SIZE, BLOCK_SIZE>>>(d_in, d_out, n);
  cudaMemcpy(h, d_out, n * sizeof(int), cudaMemcpyDeviceToHost);
  return 0;
}
