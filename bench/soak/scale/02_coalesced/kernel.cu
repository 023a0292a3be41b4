// Idea: neighbouring lanes scale neighbouring elements. Change from 01_strided: lanes lie one element apart and a thread's
// elements BLOCK apart: 4 sectors per request. The chain of multiplications is the same.
// Layouts: x, y [N] f32, contiguous. Expected bound: latency of the chain, 2 × kChain × 4 cycles per element. Limits: none.
constexpr int kChain = 256;

extern "C" __global__ void scale(const float* __restrict__ x, float* __restrict__ y, int n) {
  const int first = blockIdx.x * (BLOCK * ITEMS) + threadIdx.x;
#pragma unroll UNROLL
  for (int item = 0; item < ITEMS; ++item) {
    const int i = first + item * BLOCK;
    if (i >= n) continue;
    float value = 2.0f * x[i];
#pragma unroll 1
    for (int link = 0; link < kChain; ++link) value = (value * 0.5f) * 2.0f;
    y[i] = value;
  }
}
