constexpr int DEGREE = 24;

__device__ float chebyshev(float x) {
  float before = 1.0f, now = x;
  for (int k = 1; k < DEGREE; k++) {
    const float next = 2.0f * x * now - before;
    before = now;
    now = next;
  }
  return now;
}

__device__ float legendre(float x) {
  float before = 1.0f, now = x;
  for (int k = 1; k < DEGREE; k++) {
    const float next = ((2 * k + 1) * x * now - k * before) * (1.0f / (k + 1));
    before = now;
    now = next;
  }
  return now;
}

// One thread per frame: every lane needs both formulas, in the same order.
__global__ void shape(const float2* __restrict__ x, float2* __restrict__ y, int frames) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= frames) return;
  const float2 frame = x[i];
  y[i] = make_float2(chebyshev(frame.x), legendre(frame.y));
}
