// 02_warp_per_row: a warp computes a row; its lanes agree by shuffles.
//
// Idea      Lane l takes columns l, l + 32, …: neighbouring lanes read neighbouring addresses. A butterfly of shuffles
//           makes the row's maximum out of 32 partial ones, and the sum likewise.
// Change    From 01_naive: coalesced loads and stores, 32 times as many warps, and one lane in 32 as much to do.
// Layouts   X, Y: fp32 [R, N], row-major. grid = ceil(R / WARPS), block = 32 * WARPS; warp w of a CTA has its row w.
// Tile      A row per warp, 32 columns at a time; UNROLL of these steps are independent.
// Resources No shared memory; two partial results and UNROLL loaded values per lane.
// Bound     The row is read three times. R = 32, N = 2048: 32 warps on 4 to 32 of an L4's 58 SMs, each with 3 * 64
//           steps. With UNROLL = 4 these are 48 waits for L2 (about 260 clocks) and 192 times an exponential and an
//           addition (about 60): 24 k clocks = 12 us at 2.04 GHz. L2 would deliver the 0.75 MiB in 0.5 us: the warps
//           wait.
// Limits    N <= 2^30.
constexpr int kWarpSize = 32;
constexpr int kWarps = WARPS;
constexpr int kUnroll = UNROLL;  // steps of a pass whose loads are independent
constexpr unsigned kAllLanes = 0xffffffffu;

__device__ float warp_max(float value) {
#pragma unroll
  for (int offset = kWarpSize / 2; offset > 0; offset /= 2) {
    value = fmaxf(value, __shfl_xor_sync(kAllLanes, value, offset));
  }
  return value;
}

__device__ float warp_sum(float value) {
#pragma unroll
  for (int offset = kWarpSize / 2; offset > 0; offset /= 2) {
    value += __shfl_xor_sync(kAllLanes, value, offset);
  }
  return value;
}

__global__ void __launch_bounds__(kWarps * kWarpSize)
    softmax(const float* __restrict__ X,  // [R, N]
            float* __restrict__ Y,        // [R, N]
            int R, int N) {
  const int row = blockIdx.x * kWarps + threadIdx.x / kWarpSize;
  const int lane = threadIdx.x % kWarpSize;
  if (row >= R) return;  // the same for all lanes of a warp
  const float* x = X + static_cast<size_t>(row) * N;
  float* y = Y + static_cast<size_t>(row) * N;

  float maximum = -INFINITY;
#pragma unroll kUnroll
  for (int c = lane; c < N; c += kWarpSize) maximum = fmaxf(maximum, x[c]);
  maximum = warp_max(maximum);

  float sum = 0.0f;
#pragma unroll kUnroll
  for (int c = lane; c < N; c += kWarpSize) sum += expf(x[c] - maximum);
  const float inverse_sum = 1.0f / warp_sum(sum);

#pragma unroll kUnroll
  for (int c = lane; c < N; c += kWarpSize) y[c] = expf(x[c] - maximum) * inverse_sum;
}
