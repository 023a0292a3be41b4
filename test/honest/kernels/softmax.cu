constexpr float LOG2_E = 1.44269504f;

extern "C" __global__ void three_passes(const float* x, float* y, int R, int N) {
  const int row = blockIdx.x * blockDim.x + threadIdx.x;
  if (row >= R) return;
  float maximum = -INFINITY, sum = 0.0f;
  for (int c = 0; c < N; ++c) maximum = fmaxf(maximum, x[row * N + c]);
  for (int c = 0; c < N; ++c) sum += expf(x[row * N + c] - maximum);
  for (int c = 0; c < N; ++c) y[row * N + c] = expf(x[row * N + c] - maximum) / sum;
}

extern "C" __global__ void online(const float* x, float* y, int R, int N) {
  const int row = blockIdx.x * blockDim.x + threadIdx.x;
  if (row >= R) return;
  float maximum = -INFINITY, sum = 0.0f;
  for (int c = 0; c < N; ++c) {
    const float larger = fmaxf(maximum, x[row * N + c]);
    sum = sum * expf(maximum - larger) + expf(x[row * N + c] - larger);
    maximum = larger;
  }
  for (int c = 0; c < N; ++c) y[row * N + c] = expf(x[row * N + c] - maximum) / sum;
}

// Rescales only where the maximum has grown by more than 8: until then weights are at most e^8.
extern "C" __global__ void lazy_rescale(const float* x, float* y, int R, int N) {
  const int row = blockIdx.x * blockDim.x + threadIdx.x;
  if (row >= R) return;
  float base = x[row * N], sum = 0.0f;
  for (int c = 0; c < N; ++c) {
    const float value = x[row * N + c];
    if (value > base + 8.0f) {
      sum *= expf(base - value);
      base = value;
    }
    sum += expf(value - base);
  }
  for (int c = 0; c < N; ++c) y[row * N + c] = expf(x[row * N + c] - base) / sum;
}

extern "C" __global__ void exp2_folded(const float* x, float* y, int R, int N) {
  const int row = blockIdx.x * blockDim.x + threadIdx.x;
  if (row >= R) return;
  float maximum = -INFINITY, sum = 0.0f;
  for (int c = 0; c < N; ++c) maximum = fmaxf(maximum, x[row * N + c]);
  const float offset = maximum * LOG2_E;
  for (int c = 0; c < N; ++c) sum += exp2f(x[row * N + c] * LOG2_E - offset);
  for (int c = 0; c < N; ++c) y[row * N + c] = exp2f(x[row * N + c] * LOG2_E - offset) / sum;
}

extern "C" __global__ void fast_intrinsics(const float* x, float* y, int R, int N) {
  const int row = blockIdx.x;
  float maximum = -INFINITY, sum = 0.0f;
  for (int c = threadIdx.x; c < N; c += 32) maximum = fmaxf(maximum, x[row * N + c]);
  for (int offset = 16; offset > 0; offset /= 2) maximum = fmaxf(maximum, __shfl_xor_sync(0xffffffff, maximum, offset));
  for (int c = threadIdx.x; c < N; c += 32) sum += __expf(x[row * N + c] - maximum);
  for (int offset = 16; offset > 0; offset /= 2) sum += __shfl_xor_sync(0xffffffff, sum, offset);
  const float inverse = __fdividef(1.0f, sum);
  for (int c = threadIdx.x; c < N; c += 32) y[row * N + c] = __expf(x[row * N + c] - maximum) * inverse;
}
