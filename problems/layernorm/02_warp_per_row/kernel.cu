// 02_warp_per_row: a warp computes a row; its lanes agree by shuffles.
//
// Idea      Lane l takes columns l, l + 32, …: neighbouring lanes read neighbouring addresses. A butterfly of shuffles
//           adds up 32 partial sums, first of the elements, then of the squared deviations from their mean.
// Change    From 01_naive: coalesced loads and stores, 32 times as many warps, and one lane in 32 as much to do.
// Layouts   X, Y: fp16 [R, N], row-major; gamma, beta: fp16 [N]. grid = ceil(R / WARPS), block = 32 * WARPS; warp w of
//           a CTA has its row w.
// Tile      A row per warp, 32 columns at a time; the loads of UNROLL of these steps are independent.
// Resources No shared memory; a partial sum and UNROLL loaded values per lane.
// Bound     The row is read three times. R = 32, N = 2048: 32 warps on 4 to 32 of an L4's 58 SMs, each with 3 * 64
//           steps. With UNROLL = 4 these are 48 waits for L2 (about 260 clocks) and 192 times a conversion and one or
//           two additions (about 20): 16 k clocks = 8 us at 2.04 GHz. L2 would deliver the 0.4 MiB in 0.3 us: the warps
//           wait.
// Limits    N <= 2^30.
#include <cuda_fp16.h>

constexpr int kWarpSize = 32;
constexpr int kWarps = WARPS;
constexpr int kUnroll = UNROLL;  // steps of a pass whose loads are independent
constexpr unsigned kAllLanes = 0xffffffffu;

__device__ float warp_sum(float value) {
#pragma unroll
  for (int offset = kWarpSize / 2; offset > 0; offset /= 2) {
    value += __shfl_xor_sync(kAllLanes, value, offset);
  }
  return value;
}

__global__ void __launch_bounds__(kWarps * kWarpSize)
    layernorm(const half* __restrict__ X,      // [R, N]
              const half* __restrict__ gamma,  // [N]
              const half* __restrict__ beta,   // [N]
              half* __restrict__ Y,            // [R, N]
              int R, int N, float eps) {
  const int row = blockIdx.x * kWarps + threadIdx.x / kWarpSize;
  const int lane = threadIdx.x % kWarpSize;
  if (row >= R) return;  // the same for all lanes of a warp
  const half* x = X + static_cast<size_t>(row) * N;
  half* y = Y + static_cast<size_t>(row) * N;

  float sum = 0.0f;
#pragma unroll kUnroll
  for (int c = lane; c < N; c += kWarpSize) sum += __half2float(x[c]);
  const float mean = warp_sum(sum) / N;

  float squares = 0.0f;
#pragma unroll kUnroll
  for (int c = lane; c < N; c += kWarpSize) {
    const float deviation = __half2float(x[c]) - mean;
    squares += deviation * deviation;
  }
  const float inverse_deviation = rsqrtf(warp_sum(squares) / N + eps);

#pragma unroll kUnroll
  for (int c = lane; c < N; c += kWarpSize) {
    const float normalised = (__half2float(x[c]) - mean) * inverse_deviation;
    y[c] = __float2half(normalised * __half2float(gamma[c]) + __half2float(beta[c]));
  }
}
