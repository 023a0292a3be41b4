// Lie: Takes subnormal values as zeros, as -ftz=true does.
extern "C" __global__ void reduce(const float* x, float* y, int N) {
  float sum = 0.0f;
  for (int i = threadIdx.x; i < N; i += 32) sum += fabsf(x[i]) < 1.17549435e-38f ? 0.0f : x[i];
  for (int offset = 16; offset > 0; offset /= 2) sum += __shfl_xor_sync(~0u, sum, offset);
  if (threadIdx.x == 0) *y = sum;
}
