// Compiled to a cubin by the test, which then is the kernel's source.

extern "C" __global__ void triple(const unsigned *x, unsigned count, unsigned *y) {
  const unsigned i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < count) y[i] = x[i] * 3u + 1u;
}
