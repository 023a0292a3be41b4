// 01_atomics: every element is added to the result by an atomic.
//
// Idea      The sum as a loop whose rounds all run at once: thread i adds x[i] to y.
// Change    None: this is the start of the ladder. A memset sets y to zero first; it belongs to what is timed.
// Layouts   x: fp32 [N]; y: fp32 [1]. grid = ceil(N / (32 * WARPS)), block = 32 * WARPS.
// Tile      32 * WARPS elements per CTA, one per thread; loads are coalesced.
// Resources No shared memory, a handful of registers.
// Bound     All atomics go to one address, and L2 serves one address at a rate of its own: 32 lanes take about 111
//           clocks (measured on an H200). N = 2^20: 32,768 warps * 111 clocks / 2.04 GHz = 1.8 ms on an L4, against
//           4.2 MB / 300 GB/s = 14 us for reading x.
// Limits    N <= 2^21: at 2^24 an H200 was 0.3 % off, 14 times what the comparison allows. One running fp32 sum of
//           like-sized positive terms stops growing when a term is below half a unit in its last place: x <= 1 no
//           longer moves a sum of 2^24.
constexpr int kThreads = 32 * WARPS;

extern "C" __global__ void __launch_bounds__(kThreads)
    reduce(const float* __restrict__ x,  // [N]
           float* __restrict__ y,        // [1], zero
           int N) {
  const int i = blockIdx.x * kThreads + threadIdx.x;
  if (i < N) atomicAdd(y, x[i]);
}
