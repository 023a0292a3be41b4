// 02_blocked: a CTA per tile, in three launches.
//
// Idea      scan_tiles scans every tile by itself and notes its sum. scan_sums, one CTA, scans these sums. add_offsets adds
//           to every element what the tiles before its own add up to.
// Change    From 01_one_cta: as many CTAs as tiles; the one CTA that is left walks over N / (32 * WARPS) sums only. The
//           price is a second trip of y through memory.
// Layouts   x, y: i32 [N]; sums: i32 [tiles], inclusive after the second launch. grid = tiles, 1, tiles;
//           block = 32 * WARPS.
// Tile      32 * WARPS elements, one per thread, scanned in shared memory as in 01.
// Resources 2 * 4 * 32 * WARPS bytes of shared memory; 4 bytes of workspace per tile.
// Bound     Four passes: read x, write y, read y, write y: N = 2^20 is 16.8 MB / 276 GB/s = 61 us on an L4 and 4 us on an
//           H200, where scan_sums is longer: WARPS = 8: 16 tiles of sums * 2000 clocks / 1.98 GHz = 16 us.
// Limits    N <= 2^30 (indices are 32-bit). Sums are of unsigned words, which wrap as i32 must.
constexpr int kThreads = 32 * WARPS;

struct Tile {
  unsigned value[2][kThreads];
};

// The inclusive scan of the CTA's values: this thread's, and the sum of all. All threads call it.
struct Scanned {
  unsigned inclusive, total;
};
__device__ Scanned scan_cta(Tile& tile, unsigned value) {
  const int thread = threadIdx.x;
  int from = 0;
  tile.value[from][thread] = value;
  __syncthreads();
  for (int offset = 1; offset < kThreads; offset *= 2) {
    const unsigned before = thread >= offset ? tile.value[from][thread - offset] : 0;
    tile.value[1 - from][thread] = tile.value[from][thread] + before;
    from = 1 - from;
    __syncthreads();
  }
  return {tile.value[from][thread], tile.value[from][kThreads - 1]};
}

extern "C" __global__ void __launch_bounds__(kThreads)
    scan_tiles(const unsigned* __restrict__ x,  // [N]
               unsigned* __restrict__ y,        // [N]
               unsigned* __restrict__ sums,     // [gridDim.x]
               int N) {
  __shared__ Tile tile;
  const int i = blockIdx.x * kThreads + threadIdx.x;
  const Scanned scanned = scan_cta(tile, i < N ? x[i] : 0);
  if (i < N) y[i] = scanned.inclusive;
  if (threadIdx.x == 0) sums[blockIdx.x] = scanned.total;
}

extern "C" __global__ void __launch_bounds__(kThreads)
    scan_sums(unsigned* __restrict__ sums,  // [count]
              int count) {
  __shared__ Tile tile;
  unsigned carry = 0;  // sum of all tiles before
  for (int first = 0; first < count; first += kThreads) {
    const int i = first + threadIdx.x;
    const Scanned scanned = scan_cta(tile, i < count ? sums[i] : 0);
    if (i < count) sums[i] = carry + scanned.inclusive;
    carry += scanned.total;
    __syncthreads();  // all have read the tile before the next one takes its place
  }
}

extern "C" __global__ void __launch_bounds__(kThreads)
    add_offsets(const unsigned* __restrict__ sums,  // [gridDim.x]
                unsigned* __restrict__ y,           // [N]
                int N) {
  const int i = blockIdx.x * kThreads + threadIdx.x;
  if (blockIdx.x > 0 && i < N) y[i] += sums[blockIdx.x - 1];
}
