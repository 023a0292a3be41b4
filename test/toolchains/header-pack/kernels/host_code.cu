// A file as people have it: device code with a launcher beside it, which is read but never run.
#include <cuda_runtime.h>
#include <stdio.h>

__host__ __device__ inline int ceil_div(int a, int b) { return (a + b - 1) / b; }
__forceinline__ __device__ float square(float x) { return x * x; }
__noinline__ __device__ float cube(float x) { return x * x * x; }

extern "C" __global__ void squares(const float* __restrict__ in, float* __restrict__ out, const __grid_constant__ int n) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) out[i] = square(in[i]) + cube(in[i]);
}

cudaError_t launch(const float* in, float* out, int n, cudaStream_t stream) {
  cudaFuncSetAttribute(squares, cudaFuncAttributeMaxDynamicSharedMemorySize, 0);
  squares<<<dim3(ceil_div(n, 128)), dim3(128), 0, stream>>>(in, out, n);
  return cudaGetLastError();
}
