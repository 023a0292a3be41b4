// 03_shuffles: several elements per thread, shuffles inside a warp, one atomic per CTA.
//
// Idea      A thread adds ITEMS elements in a register before anything is exchanged. A warp adds its 32 sums by butterfly
//           shuffles, which need neither shared memory nor barriers; only the WARPS sums pass through shared memory.
// Change    From 02_shared_tree: one barrier instead of one per round; ITEMS times fewer CTAs, hence atomics.
// Layouts   x: fp32 [N]; y: fp32 [1]. grid = ceil(N / (32 * WARPS * ITEMS)), block = 32 * WARPS. Element k of a thread
//           lies 32 * WARPS * k further on, so every load is coalesced.
// Tile      32 * WARPS * ITEMS elements per CTA; zeros beyond the end.
// Resources 4 * WARPS bytes of shared memory; ITEMS loads in flight per thread.
// Bound     N = 2^20, WARPS = 8, ITEMS = 8: 512 atomics on one address * 111 clocks / 2.04 GHz = 28 us on an L4, still
//           twice the 14 us of reading x. More ITEMS mean fewer atomics and, beyond a few CTAs per SM, idle SMs.
// Limits    N <= 2^30 (indices are 32-bit).
constexpr int kWarpSize = 32;
constexpr int kWarps = WARPS;
constexpr int kItems = ITEMS;  // elements per thread
constexpr int kThreads = kWarps * kWarpSize;
constexpr int kTile = kThreads * kItems;  // elements per CTA
constexpr unsigned kAllLanes = 0xffffffffu;

__device__ float warp_sum(float value) {
#pragma unroll
  for (int offset = kWarpSize / 2; offset > 0; offset /= 2) {
    value += __shfl_xor_sync(kAllLanes, value, offset);
  }
  return value;
}

extern "C" __global__ void __launch_bounds__(kThreads)
    reduce(const float* __restrict__ x,  // [N]
           float* __restrict__ y,        // [1], zero
           int N) {
  __shared__ float warp_sums[kWarps];
  const int warp = threadIdx.x / kWarpSize;
  const int lane = threadIdx.x % kWarpSize;

  const int first = blockIdx.x * kTile + threadIdx.x;
  float item[kItems];
#pragma unroll
  for (int k = 0; k < kItems; ++k) {
    const int i = first + k * kThreads;
    item[k] = i < N ? x[i] : 0.0f;
  }
  float sum = 0.0f;
#pragma unroll
  for (int k = 0; k < kItems; ++k) sum += item[k];

  sum = warp_sum(sum);
  if (lane == 0) warp_sums[warp] = sum;
  __syncthreads();
  if (warp == 0) {
    sum = warp_sum(lane < kWarps ? warp_sums[lane] : 0.0f);
    if (lane == 0) atomicAdd(y, sum);
  }
}
