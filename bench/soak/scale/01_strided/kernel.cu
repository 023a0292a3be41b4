// Idea: a thread scales ITEMS neighbouring elements, so that lanes lie ITEMS elements apart: up to 32 sectors per request.
// Each element also goes through a chain of multiplications that cancel exactly: no setting comes near what the device
// could do, so that a search never stops for that.
// Layouts: x, y [N] f32, contiguous. Expected bound: latency of the chain, 2 × kChain × 4 cycles per element. Limits: none.
constexpr int kChain = 256;

extern "C" __global__ void scale(const float* __restrict__ x, float* __restrict__ y, int n) {
  const int first = (blockIdx.x * BLOCK + threadIdx.x) * ITEMS;
#pragma unroll UNROLL
  for (int item = 0; item < ITEMS; ++item) {
    const int i = first + item;
    if (i >= n) continue;
    float value = 2.0f * x[i];
#pragma unroll 1
    for (int link = 0; link < kChain; ++link) value = (value * 0.5f) * 2.0f;
    y[i] = value;
  }
}
