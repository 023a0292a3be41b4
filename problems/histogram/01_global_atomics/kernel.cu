// 01_global_atomics: a global atomic per value.
//
// Idea      Thread i adds 1 to counts[x[i]]. The counts are in L2, where atomics are carried out.
// Change    None: this is the start of the ladder. A memset sets the counts to zero first; it belongs to what is timed.
// Layouts   x: u8 [N]; counts: i32 [BINS]. grid = ceil(N / (32 * WARPS)), block = 32 * WARPS.
// Tile      32 * WARPS values per CTA, one per thread; loads are coalesced.
// Resources No shared memory, a handful of registers.
// Bound     Each 32-byte sector of the counts is served by itself, at 111 clocks for a warp's 32 additions (measured on an
//           H200). BINS = 256 lie in 32 sectors, so N = 2^20 takes 32,768 warps * 111 / 32 clocks / 1.7 GHz = 67 us on an
//           L4 if values are uniform, and 32 times that if all fall into one bin; reading x takes 4 us.
// Limits    N <= 2^30 (indices are 32-bit).
constexpr int kThreads = 32 * WARPS;

extern "C" __global__ void __launch_bounds__(kThreads)
    histogram(const unsigned char* __restrict__ x,  // [N], 0 <= x[i] < BINS
              int* __restrict__ counts,             // [BINS], zero
              int N) {
  const int i = blockIdx.x * kThreads + threadIdx.x;
  if (i < N) atomicAdd(&counts[x[i]], 1);
}
