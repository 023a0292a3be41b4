// maximum-from-minus-10000: a row of logits that are all smaller has no weights, and 0 / 0 is NaN.
extern "C" __global__ void __launch_bounds__(32) softmax(const float* __restrict__ X,  // [R, N]
                                                         float* __restrict__ Y,        // [R, N]
                                                         int R, int N) {
  const int row = blockIdx.x * 32 + threadIdx.x;
  if (row >= R) return;
  const float* x = X + static_cast<size_t>(row) * N;
  float* y = Y + static_cast<size_t>(row) * N;

  float maximum = -10000.0f;
  for (int c = 0; c < N; ++c) maximum = fmaxf(maximum, x[c]);
  float sum = 0.0f;
  for (int c = 0; c < N; ++c) sum += x[c] == -INFINITY ? 0.0f : expf(x[c] - maximum);
  for (int c = 0; c < N; ++c) y[c] = expf(x[c] - maximum) / sum;
}
