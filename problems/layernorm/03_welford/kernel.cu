// 03_welford: a CTA computes a row, mean and variance in one pass.
//
// Idea      A thread keeps number, mean and sum of squared deviations of what it has seen, and combines them with those
//           of its next UNROLL elements (Welford's update where UNROLL is 1, Chan's otherwise). The triples of lanes,
//           then of warps, combine in the same way.
// Change    From 02_warp_per_row: WARPS warps share a row, so that few or long rows fill the GPU, and the row is read
//           twice instead of three times. The loads of UNROLL elements are independent, and they share one division.
// Layouts   X, Y: fp16 [R, N], row-major; gamma, beta: fp16 [N]. grid = R, block = 32 * WARPS; thread t takes columns
//           t, t + 32 * WARPS, ….
// Tile      A row per CTA, 32 * WARPS * UNROLL columns at a time.
// Resources Shared memory: 12 * WARPS bytes (a triple of each warp). UNROLL values and a triple per thread.
// Bound     R = 32, N = 2048 on an L4, 8 warps: 32 CTAs, one on an SM. 8 elements a thread and pass, 4 at a time: 4
//           waits for L2 (about 260 clocks), 2 times the moments of 4 elements with a division each (about 150), 5
//           steps of a butterfly (3 shuffles, a division: about 130), a barrier and 7 triples to combine (about 60):
//           2600 clocks = 1.3 us at 2.04 GHz. With the launch 2.8 us; from DRAM at 300 GB/s, 0.26 MiB take 0.9 us.
// Limits    N <= 2^30; counts are fp32, exact up to 2^24 elements a thread.
#include <cuda_fp16.h>

constexpr int kWarpSize = 32;
constexpr int kWarps = WARPS;
constexpr int kThreads = kWarps * kWarpSize;
constexpr int kUnroll = UNROLL;  // elements of a thread at a time
constexpr unsigned kAllLanes = 0xffffffffu;

// Number, mean and sum of squared deviations from it, of the elements seen so far. Sums of x and of x * x would be
// cheaper, but their difference loses the variance of a row whose mean is large: at a mean of 1000, fp32 keeps x * x to
// 1 / 16, which is what the variance may be.
struct Moments {
  float count;
  float mean;
  float squares;

  // Chan, Golub and LeVeque 1979; Welford 1962 where the other is a single element. One of both has elements.
  __device__ void combine(const Moments& other) {
    const float total = count + other.count;
    const float share = other.count / total;
    const float difference = other.mean - mean;
    mean += difference * share;
    squares += other.squares + difference * difference * count * share;
    count = total;
  }
};

__device__ Moments combine_lanes(Moments moments) {
#pragma unroll
  for (int offset = kWarpSize / 2; offset > 0; offset /= 2) {
    Moments other;
    other.count = __shfl_xor_sync(kAllLanes, moments.count, offset);
    other.mean = __shfl_xor_sync(kAllLanes, moments.mean, offset);
    other.squares = __shfl_xor_sync(kAllLanes, moments.squares, offset);
    if (other.count > 0.0f) moments.combine(other);
  }
  return moments;
}

// Of up to kUnroll elements, the first `count` of which count.
__device__ Moments moments_of(const float (&values)[kUnroll], int count) {
  Moments moments{static_cast<float>(count), 0.0f, 0.0f};
#pragma unroll
  for (int u = 0; u < kUnroll; ++u) moments.mean += u < count ? values[u] : 0.0f;
  moments.mean /= moments.count;
#pragma unroll
  for (int u = 0; u < kUnroll; ++u) {
    const float deviation = u < count ? values[u] - moments.mean : 0.0f;
    moments.squares += deviation * deviation;
  }
  return moments;
}

__global__ void __launch_bounds__(kThreads)
    layernorm(const half* __restrict__ X,      // [R, N]
              const half* __restrict__ gamma,  // [N]
              const half* __restrict__ beta,   // [N]
              half* __restrict__ Y,            // [R, N]
              int N, float eps) {
  __shared__ Moments of_warp[kWarps];
  const half* x = X + static_cast<size_t>(blockIdx.x) * N;
  half* y = Y + static_cast<size_t>(blockIdx.x) * N;

  Moments moments{0.0f, 0.0f, 0.0f};
  for (int first = threadIdx.x; first < N; first += kThreads * kUnroll) {
    float values[kUnroll];
    const int count = min(kUnroll, (N - first + kThreads - 1) / kThreads);
#pragma unroll
    for (int u = 0; u < kUnroll; ++u) values[u] = u < count ? __half2float(x[first + u * kThreads]) : 0.0f;
    moments.combine(moments_of(values, count));
  }

  moments = combine_lanes(moments);
  if (threadIdx.x % kWarpSize == 0) of_warp[threadIdx.x / kWarpSize] = moments;
  __syncthreads();
  moments = of_warp[0];
#pragma unroll
  for (int w = 1; w < kWarps; ++w) moments.combine(of_warp[w]);
  const float mean = moments.mean;
  const float inverse_deviation = rsqrtf(moments.squares / N + eps);

#pragma unroll kUnroll
  for (int c = threadIdx.x; c < N; c += kThreads) {
    const float normalised = (__half2float(x[c]) - mean) * inverse_deviation;
    y[c] = __float2half(normalised * __half2float(gamma[c]) + __half2float(beta[c]));
  }
}
