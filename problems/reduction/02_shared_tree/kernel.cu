// 02_shared_tree: a tree in shared memory, then one atomic per CTA.
//
// Idea      The CTA adds its elements pairwise: log2(32 * WARPS) rounds, in each of which the lower half of the live
//           threads adds the upper half's partial sums to its own. Only the CTA's sum goes through an atomic.
// Change    From 01_atomics: 32 * WARPS elements per atomic instead of one; partial sums in shared memory, a barrier per
//           round.
// Layouts   x: fp32 [N]; y: fp32 [1]. grid = ceil(N / (32 * WARPS)), block = 32 * WARPS. Thread t of a round adds
//           partial[t + stride], so neighbouring lanes touch neighbouring banks, and whole warps fall idle first.
// Tile      32 * WARPS elements per CTA, one per thread; zeros beyond the end.
// Resources 4 * 32 * WARPS bytes of shared memory.
// Bound     Still the one address: N = 2^20, WARPS = 8: 4096 atomics of one lane. If L2 takes as long for them as for a
//           warp's, 4096 * 111 clocks / 2.04 GHz = 223 us on an L4; reading x takes 14 us. Of 8 rounds the last 5 leave
//           one warp, then a part of it, at work while the others wait: 9 barriers for 1 load per thread.
// Limits    N <= 2^30 (indices are 32-bit).
constexpr int kThreads = 32 * WARPS;
static_assert((kThreads & (kThreads - 1)) == 0, "the tree halves the CTA");

extern "C" __global__ void __launch_bounds__(kThreads)
    reduce(const float* __restrict__ x,  // [N]
           float* __restrict__ y,        // [1], zero
           int N) {
  __shared__ float partial[kThreads];
  const int thread = threadIdx.x;
  const int i = blockIdx.x * kThreads + thread;
  partial[thread] = i < N ? x[i] : 0.0f;
  for (int stride = kThreads / 2; stride > 0; stride /= 2) {
    __syncthreads();
    if (thread < stride) partial[thread] += partial[thread + stride];
  }
  if (thread == 0) atomicAdd(y, partial[0]);
}
