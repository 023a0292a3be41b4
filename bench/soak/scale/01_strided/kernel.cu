// Idea: a thread scales ITEMS neighbouring elements, so that lanes lie ITEMS elements apart: up to 32 sectors per request.
// Layouts: x, y [N] f32, contiguous. Expected bound: memory, 8 bytes per element. Limits: none.
extern "C" __global__ void scale(const float* __restrict__ x, float* __restrict__ y, int n) {
  const int first = (blockIdx.x * BLOCK + threadIdx.x) * ITEMS;
#pragma unroll UNROLL
  for (int item = 0; item < ITEMS; ++item) {
    const int i = first + item;
    if (i < n) y[i] = 2.0f * x[i];
  }
}
