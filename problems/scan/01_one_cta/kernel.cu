// 01_one_cta: one CTA walks over the array, a tile after the other.
//
// Idea      A tile is scanned as Hillis and Steele do it: in round r every thread adds the value 2^r places before its own,
//           so log2(32 * WARPS) rounds make all prefix sums. What the tiles before add up to is carried in a register.
// Change    None: this is the start of the ladder.
// Layouts   x, y: i32 [N]. grid = 1, block = 32 * WARPS.
// Tile      32 * WARPS elements, one per thread. Two copies in shared memory: a round reads one and writes the other, so
//           that one barrier a round is enough.
// Resources 2 * 4 * 32 * WARPS bytes of shared memory.
// Bound     One of an L4's 58 SMs works. WARPS = 8: 4096 tiles for N = 2^20, each 8 rounds and 9 barriers of some 100
//           clocks and a load of some 600: 4096 * 2000 clocks / 1.7 GHz = 5 ms, against 8.4 MB / 276 GB/s = 30 us.
// Limits    N <= 2^30 (indices are 32-bit). Sums are of unsigned words, which wrap as i32 must.
constexpr int kThreads = 32 * WARPS;

extern "C" __global__ void __launch_bounds__(kThreads)
    scan(const unsigned* __restrict__ x,  // [N]
         unsigned* __restrict__ y,        // [N]
         int N) {
  __shared__ unsigned tile[2][kThreads];
  const int thread = threadIdx.x;
  unsigned carry = 0;  // sum of all tiles before
  for (int first = 0; first < N; first += kThreads) {
    const int i = first + thread;
    int from = 0;
    tile[from][thread] = i < N ? x[i] : 0;
    __syncthreads();
    for (int offset = 1; offset < kThreads; offset *= 2) {
      const unsigned before = thread >= offset ? tile[from][thread - offset] : 0;
      tile[1 - from][thread] = tile[from][thread] + before;
      from = 1 - from;
      __syncthreads();
    }
    if (i < N) y[i] = carry + tile[from][thread];
    carry += tile[from][kThreads - 1];
    __syncthreads();  // all have read the tile before the next one takes its place
  }
}
