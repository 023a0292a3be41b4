// Reduction with the block's size as a template argument, unrolled at compile time.
#include <cuda_runtime.h>
#include <cstdlib>

template <unsigned int blockSize>
__global__ void reduce(const float *in, float *out, unsigned int n) {
  __shared__ float sdata[blockSize];
  unsigned int tid = threadIdx.x;
  float sum = 0.0f;
  for (unsigned int i = blockIdx.x * blockSize * 2 + tid; i < n; i += blockSize * 2 * gridDim.x) {
    sum += in[i];
    if (i + blockSize < n) sum += in[i + blockSize];
  }
  sdata[tid] = sum;
  __syncthreads();
  if (blockSize >= 512) { if (tid < 256) sdata[tid] += sdata[tid + 256]; __syncthreads(); }
  if (blockSize >= 256) { if (tid < 128) sdata[tid] += sdata[tid + 128]; __syncthreads(); }
  if (blockSize >= 128) { if (tid < 64) sdata[tid] += sdata[tid + 64]; __syncthreads(); }
  if (tid < 32) {
    float v = sdata[tid] + sdata[tid + 32];
    for (int o = 16; o > 0; o /= 2) v += __shfl_down_sync(0xffffffff, v, o);
    if (tid == 0) atomicAdd(out, v);
  }
}

int main() {
  const int n = 1 << 20;
  float *d_in, *d_out, result;
  cudaMalloc(&d_in, n * sizeof(float));
  cudaMalloc(&d_out, sizeof(float));
  cudaMemset(d_out, 0, sizeof(float));
  const int blocks = 64;
  reduce<256><<<blocks, 256>>>(d_in, d_out, n);
  cudaMemcpy(&result, d_out, sizeof(float), cudaMemcpyDeviceToHost);
  return 0;
}
