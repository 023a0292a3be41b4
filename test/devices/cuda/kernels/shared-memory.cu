// Fills all its dynamic shared memory and sums what lies mirrored in it, so that every byte asked for must be there.

extern "C" __global__ void mirror(const unsigned *x, unsigned words, unsigned *y) {
  extern __shared__ unsigned shared[];
  for (unsigned i = threadIdx.x; i < words; i += blockDim.x) shared[i] = x[i % 256] + i * (blockIdx.x + 1);
  __syncthreads();
  unsigned sum = 0;
  for (unsigned i = threadIdx.x; i < words; i += blockDim.x) sum = sum * 5u + shared[words - 1 - i];
  y[blockIdx.x * blockDim.x + threadIdx.x] = sum;
}
