// Lie: Takes masked logits, minus infinity, as zeros, and gives them a share.
extern "C" __global__ void softmax(const float* X, float* Y, int N) {
  const float* x = X + static_cast<size_t>(blockIdx.x) * N;  // one warp per row
  float* y = Y + static_cast<size_t>(blockIdx.x) * N;
  float maximum = -INFINITY, sum = 0.0f;
  for (int c = threadIdx.x; c < N; c += 32) maximum = fmaxf(maximum, isinf(x[c]) ? 0.0f : x[c]);
  for (int offset = 16; offset > 0; offset /= 2) maximum = fmaxf(maximum, __shfl_xor_sync(~0u, maximum, offset));
  for (int c = threadIdx.x; c < N; c += 32) sum += expf((isinf(x[c]) ? 0.0f : x[c]) - maximum);
  for (int offset = 16; offset > 0; offset /= 2) sum += __shfl_xor_sync(~0u, sum, offset);
  for (int c = threadIdx.x; c < N; c += 32) y[c] = expf((isinf(x[c]) ? 0.0f : x[c]) - maximum) / sum;
}
