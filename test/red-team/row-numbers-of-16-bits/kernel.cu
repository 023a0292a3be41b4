// A warp per row. What a warp is to do is one packed word, the same for all its lanes.
struct Task {
  unsigned short row;
  unsigned short lanes;  // that have elements
};

extern "C" __global__ void __launch_bounds__(256) softmax(const float* X, float* Y, int R, int N) {
  const int warp = threadIdx.x / 32, lane = threadIdx.x % 32;
  if (blockIdx.x * 8 + warp >= R) return;
  const Task task = {(unsigned short)(blockIdx.x * 8 + warp), (unsigned short)min(N, 32)};
  const float* x = X + (size_t)task.row * N;
  float* y = Y + (size_t)task.row * N;
  float maximum = -INFINITY, sum = 0.0f;
  if (lane < task.lanes) {
    for (int c = lane; c < N; c += 32) maximum = fmaxf(maximum, x[c]);
  }
  for (int o = 16; o > 0; o /= 2) maximum = fmaxf(maximum, __shfl_xor_sync(0xffffffffu, maximum, o));
  for (int c = lane; c < N; c += 32) sum += expf(x[c] - maximum);
  for (int o = 16; o > 0; o /= 2) sum += __shfl_xor_sync(0xffffffffu, sum, o);
  const float inverse = 1.0f / sum;
  for (int c = lane; c < N; c += 32) y[c] = expf(x[c] - maximum) * inverse;
}
