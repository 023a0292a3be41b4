// Idea: neighbouring lanes scale neighbouring elements. Change from 01_strided: lanes lie one element apart and a thread's
// elements BLOCK apart: 4 sectors per request.
// Layouts: x, y [N] f32, contiguous. Expected bound: memory, 8 bytes per element. Limits: none.
extern "C" __global__ void scale(const float* __restrict__ x, float* __restrict__ y, int n) {
  const int first = blockIdx.x * (BLOCK * ITEMS) + threadIdx.x;
#pragma unroll UNROLL
  for (int item = 0; item < ITEMS; ++item) {
    const int i = first + item * BLOCK;
    if (i < n) y[i] = 2.0f * x[i];
  }
}
