// 03_online: a CTA computes a row, maximum and sum in one pass.
//
// Idea      The online softmax (Milakov and Gimelshein 2018): a thread keeps the maximum of what it has seen and the
//           sum of exponentials relative to it; when the maximum grows, the sum is scaled by what the new maximum makes
//           of it. Two such pairs combine in the same way, so the pairs of lanes, then of warps, make the row's.
// Change    From 02_warp_per_row: WARPS warps share a row, so that few or long rows fill the GPU, and the row is read
//           twice instead of three times. Each thread takes UNROLL elements at a time: their loads are independent, and
//           they share one rescale.
// Layouts   X, Y: fp32 [R, N], row-major. grid = R, block = 32 * WARPS; thread t takes columns t, t + 32 * WARPS, ….
// Tile      A row per CTA, 32 * WARPS * UNROLL columns at a time.
// Resources Shared memory: 8 * WARPS bytes (a pair of each warp). UNROLL values and a pair per thread.
// Bound     R = 32, N = 2048 on an L4, 8 warps: 32 CTAs, one on an SM. 8 elements a thread and pass, 4 at a time: 4
//           waits for L2 (about 260 clocks), 16 times an exponential and an addition or product (about 60), 5 steps of
//           a butterfly (2 shuffles, 2 exponentials: about 110), a barrier and 7 pairs to combine (60): 3000 clocks =
//           1.5 us at 2.04 GHz. With the launch 3 us; from DRAM at 300 GB/s, 0.5 MiB take 1.7 us.
// Limits    N <= 2^30.
#include <cfloat>

constexpr int kWarpSize = 32;
constexpr int kWarps = WARPS;
constexpr int kThreads = kWarps * kWarpSize;
constexpr int kUnroll = UNROLL;  // elements of a thread at a time
constexpr unsigned kAllLanes = 0xffffffffu;

// Maximum of the elements seen, and sum of exp(x - maximum) over them. Starting at the lowest finite number instead of
// -inf, a pair that has seen nothing combines without -inf - -inf, which is NaN.
struct Softmax {
  float maximum;
  float sum;

  __device__ void combine(const Softmax& other) {
    const float larger = fmaxf(maximum, other.maximum);
    sum = sum * expf(maximum - larger) + other.sum * expf(other.maximum - larger);
    maximum = larger;
  }
};

// All lanes get the combination of the 32 pairs. Partners combine the same two pairs; sums of products may be fused
// either way round, so lane 0's result is the one that counts.
__device__ Softmax combine_lanes(Softmax pair) {
#pragma unroll
  for (int offset = kWarpSize / 2; offset > 0; offset /= 2) {
    Softmax other;
    other.maximum = __shfl_xor_sync(kAllLanes, pair.maximum, offset);
    other.sum = __shfl_xor_sync(kAllLanes, pair.sum, offset);
    pair.combine(other);
  }
  return pair;
}

__global__ void __launch_bounds__(kThreads)
    softmax(const float* __restrict__ X,  // [R, N]
            float* __restrict__ Y,        // [R, N]
            int N) {
  __shared__ Softmax pairs[kWarps];
  const float* x = X + static_cast<size_t>(blockIdx.x) * N;
  float* y = Y + static_cast<size_t>(blockIdx.x) * N;

  Softmax pair{-FLT_MAX, 0.0f};
  for (int first = threadIdx.x; first < N; first += kThreads * kUnroll) {
    float values[kUnroll];
    float larger = pair.maximum;
#pragma unroll
    for (int u = 0; u < kUnroll; ++u) {
      const int c = first + u * kThreads;
      values[u] = c < N ? x[c] : -INFINITY;  // weighs nothing
      larger = fmaxf(larger, values[u]);
    }
    pair.sum *= expf(pair.maximum - larger);
    pair.maximum = larger;
#pragma unroll
    for (int u = 0; u < kUnroll; ++u) pair.sum += expf(values[u] - larger);
  }

  pair = combine_lanes(pair);
  if (threadIdx.x % kWarpSize == 0) pairs[threadIdx.x / kWarpSize] = pair;
  __syncthreads();
  pair = pairs[0];
#pragma unroll
  for (int w = 1; w < kWarps; ++w) pair.combine(pairs[w]);
  const float inverse_sum = 1.0f / pair.sum;

#pragma unroll kUnroll
  for (int c = threadIdx.x; c < N; c += kThreads) y[c] = expf(x[c] - pair.maximum) * inverse_sum;
}
