// Lie: Takes the exponentials of logits as they are: right until one exceeds 88.
extern "C" __global__ void softmax(const float* X, float* Y, int N) {
  const float* x = X + static_cast<size_t>(blockIdx.x) * N;  // one warp per row
  float* y = Y + static_cast<size_t>(blockIdx.x) * N;
  float sum = 0.0f;
  for (int c = threadIdx.x; c < N; c += 32) sum += expf(x[c]);
  for (int offset = 16; offset > 0; offset /= 2) sum += __shfl_xor_sync(~0u, sum, offset);
  for (int c = threadIdx.x; c < N; c += 32) y[c] = expf(x[c]) / sum;
}
