// 03_shuffles: sum first, scan once; shuffles inside a warp, several elements per thread.
//
// Idea      tile_sums only adds up each tile, which writes next to nothing. scan_sums, one CTA, scans these sums. scan_tiles
//           then reads x again and writes each y once, with the sum of all tiles before added. Inside a warp prefix sums
//           travel by shuffles; only the WARPS sums pass through shared memory.
// Change    From 02_blocked: three passes over memory instead of four; one barrier per tile instead of one per round;
//           tiles are ITEMS times larger, so scan_sums has ITEMS times less to do.
// Layouts   x, y: i32 [N]; sums: i32 [tiles], inclusive after the second launch. grid = tiles, 1, tiles;
//           block = 32 * WARPS. A warp owns 32 * ITEMS neighbouring elements, element 32 * k + lane in item k of a lane,
//           so every load and store is coalesced.
// Tile      32 * WARPS * ITEMS elements per CTA; zeros beyond the end.
// Resources 4 * WARPS bytes of shared memory; ITEMS registers of elements per thread; 4 bytes of workspace per tile.
// Bound     Three passes: N = 2^20 is 12.6 MB / 276 GB/s = 46 us on an L4 and 3 us on an H200, plus three launches (4.5
//           and 3 us). scan_sums at WARPS = 8, ITEMS = 4: 1024 sums in 4 rounds of some 800 clocks = 2 us.
// Limits    N <= 2^30 (indices are 32-bit). Sums are of unsigned words, which wrap as i32 must.
constexpr int kWarpSize = 32;
constexpr int kWarps = WARPS;
constexpr int kItems = ITEMS;  // elements per thread
constexpr int kThreads = kWarps * kWarpSize;
constexpr int kTile = kThreads * kItems;  // elements per CTA
constexpr unsigned kAllLanes = 0xffffffffu;
constexpr int kLastLane = kWarpSize - 1;

__device__ unsigned scan_warp(unsigned value) {  // inclusive
  const int lane = threadIdx.x % kWarpSize;
#pragma unroll
  for (int offset = 1; offset < kWarpSize; offset *= 2) {
    const unsigned before = __shfl_up_sync(kAllLanes, value, offset);
    if (lane >= offset) value += before;
  }
  return value;
}

__device__ unsigned sum_warp(unsigned value) {
#pragma unroll
  for (int offset = kWarpSize / 2; offset > 0; offset /= 2) {
    value += __shfl_xor_sync(kAllLanes, value, offset);
  }
  return value;
}

// From each warp's sum: the sum of the warps before this one, and of all. All threads call it.
struct Offsets {
  unsigned before, total;
};
__device__ Offsets scan_warp_sums(unsigned* warp_sums, unsigned warp_sum) {  // warp_sums: [kWarps], shared
  const int warp = threadIdx.x / kWarpSize;
  const int lane = threadIdx.x % kWarpSize;
  if (lane == 0) warp_sums[warp] = warp_sum;
  __syncthreads();
  // Every warp scans the sums for itself, which is quicker than to wait for one that does.
  const unsigned inclusive = scan_warp(lane < kWarps ? warp_sums[lane] : 0);
  const unsigned own = __shfl_sync(kAllLanes, inclusive, warp);
  return {own - warp_sum, __shfl_sync(kAllLanes, inclusive, kLastLane)};
}

extern "C" __global__ void __launch_bounds__(kThreads)
    tile_sums(const unsigned* __restrict__ x,  // [N]
              unsigned* __restrict__ sums,     // [gridDim.x]
              int N) {
  __shared__ unsigned warp_sums[kWarps];
  const int first = blockIdx.x * kTile + threadIdx.x;
  unsigned item[kItems];
#pragma unroll
  for (int k = 0; k < kItems; ++k) {
    const int i = first + k * kThreads;
    item[k] = i < N ? x[i] : 0;
  }
  unsigned sum = 0;
#pragma unroll
  for (int k = 0; k < kItems; ++k) sum += item[k];
  sum = sum_warp(sum);

  if (threadIdx.x % kWarpSize == 0) warp_sums[threadIdx.x / kWarpSize] = sum;
  __syncthreads();
  if (threadIdx.x < kWarpSize) {
    sum = sum_warp(threadIdx.x < kWarps ? warp_sums[threadIdx.x] : 0);
    if (threadIdx.x == 0) sums[blockIdx.x] = sum;
  }
}

extern "C" __global__ void __launch_bounds__(kThreads)
    scan_sums(unsigned* __restrict__ sums,  // [count]
              int count) {
  __shared__ unsigned warp_sums[kWarps];
  unsigned carry = 0;  // sum of all rounds before
  for (int first = 0; first < count; first += kThreads) {
    const int i = first + threadIdx.x;
    const unsigned inclusive = scan_warp(i < count ? sums[i] : 0);
    const Offsets offsets = scan_warp_sums(warp_sums, __shfl_sync(kAllLanes, inclusive, kLastLane));
    if (i < count) sums[i] = carry + offsets.before + inclusive;
    carry += offsets.total;
    __syncthreads();  // all have read warp_sums before the next round writes them
  }
}

extern "C" __global__ void __launch_bounds__(kThreads)
    scan_tiles(const unsigned* __restrict__ x,     // [N]
               const unsigned* __restrict__ sums,  // [gridDim.x]
               unsigned* __restrict__ y,           // [N]
               int N) {
  __shared__ unsigned warp_sums[kWarps];
  const int warp = threadIdx.x / kWarpSize;
  const int lane = threadIdx.x % kWarpSize;
  const int first = blockIdx.x * kTile + warp * kWarpSize * kItems + lane;
  const unsigned tiles_before = blockIdx.x > 0 ? sums[blockIdx.x - 1] : 0;

  unsigned item[kItems];  // elements, then prefix sums inside the warp
#pragma unroll
  for (int k = 0; k < kItems; ++k) {
    const int i = first + k * kWarpSize;
    item[k] = i < N ? x[i] : 0;
  }
  unsigned warp_sum = 0;
#pragma unroll
  for (int k = 0; k < kItems; ++k) {
    item[k] = warp_sum + scan_warp(item[k]);
    warp_sum = __shfl_sync(kAllLanes, item[k], kLastLane);
  }

  const unsigned before = tiles_before + scan_warp_sums(warp_sums, warp_sum).before;
#pragma unroll
  for (int k = 0; k < kItems; ++k) {
    const int i = first + k * kWarpSize;
    if (i < N) y[i] = before + item[k];
  }
}
