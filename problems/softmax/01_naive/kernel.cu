// 01_naive: thread t computes row t.
//
// Idea      The formula read aloud: a pass for the maximum, one for the sum, one that writes.
// Change    None: this is the start of the ladder.
// Layouts   X, Y: fp32 [R, N], row-major. grid = ceil(R / (32 * WARPS)), block = 32 * WARPS.
// Tile      A row per thread; nothing is shared.
// Resources No shared memory, a few registers.
// Bound     A thread for a row: R = 32 rows are one warp on one of the 58 SMs of an L4, and N = 2048 elements are 3 *
//           2048 dependent steps. Neighbouring lanes read addresses 4 N bytes apart, so a step is a load of 32 lines
//           (40 clocks from L1, and 32 lookups) and a maximum, or an exponential and an addition (about 40): 6144 * 110
//           clocks = 0.7 M clocks = 0.33 ms at 2.04 GHz. Where 32 rows of lines don't fit L1 beside those of other
//           warps, more.
// Limits    N <= 2^30.
constexpr int kThreads = 32 * WARPS;

__global__ void __launch_bounds__(kThreads)
    softmax(const float* __restrict__ X,  // [R, N]
            float* __restrict__ Y,        // [R, N]
            int R, int N) {
  const int row = blockIdx.x * kThreads + threadIdx.x;
  if (row >= R) return;
  const float* x = X + static_cast<size_t>(row) * N;
  float* y = Y + static_cast<size_t>(row) * N;

  float maximum = -INFINITY;
  for (int c = 0; c < N; ++c) maximum = fmaxf(maximum, x[c]);
  float sum = 0.0f;
  for (int c = 0; c < N; ++c) sum += expf(x[c] - maximum);
  for (int c = 0; c < N; ++c) y[c] = expf(x[c] - maximum) / sum;
}
