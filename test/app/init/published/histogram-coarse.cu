// Histogram: private bins in shared memory, several elements a thread.
#include <cuda_runtime.h>
#include <cstdlib>

#define NUM_BINS 64
#define COARSE_FACTOR 4
static const int blockSize = 256;

__global__ void histogram(const unsigned char *data, unsigned int *bins, unsigned int n) {
  __shared__ unsigned int own[NUM_BINS];
  for (unsigned int b = threadIdx.x; b < NUM_BINS; b += blockDim.x) own[b] = 0;
  __syncthreads();
  unsigned int from = (blockIdx.x * blockSize + threadIdx.x) * COARSE_FACTOR;
  for (unsigned int i = from; i < from + COARSE_FACTOR; i++)
    if (i < n) atomicAdd(&own[data[i] % NUM_BINS], 1u);
  __syncthreads();
  for (unsigned int b = threadIdx.x; b < NUM_BINS; b += blockDim.x) atomicAdd(&bins[b], own[b]);
}

int main() {
  unsigned int n = 1 << 18;
  unsigned char *d_data;
  unsigned int *d_bins, h[NUM_BINS];
  cudaMalloc(&d_data, n);
  cudaMalloc(&d_bins, NUM_BINS * sizeof(unsigned int));
  cudaMemset(d_bins, 0, NUM_BINS * sizeof(unsigned int));
  unsigned int blocks = (n + blockSize * COARSE_FACTOR - 1) / (blockSize * COARSE_FACTOR);
  histogram<<<blocks, blockSize>>>(d_data, d_bins, n);
  cudaMemcpy(h, d_bins, NUM_BINS * sizeof(unsigned int), cudaMemcpyDeviceToHost);
  return 0;
}
