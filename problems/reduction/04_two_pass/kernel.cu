// 04_two_pass: a persistent grid of wide loads, partial sums in a workspace, a second launch that adds them.
//
// Idea      Just enough CTAs to fill the GPU walk over x together (a grid-stride loop). A thread keeps UNROLL independent
//           sums, one per load of VECTOR_WIDTH elements, so that several loads are in flight and no addition waits for
//           another. Each CTA stores its sum; a second launch of one CTA adds those. No atomics, no memset.
// Change    From 03_shuffles: no atomic, so nothing is served one after the other, and the order of additions is fixed:
//           the result is the same to the bit in every run on a device. 16-byte loads; CTAs are as many as are resident,
//           not as many as N demands.
// Layouts   x: fp32 [N]; y: fp32 [1]; partials: fp32 [CTAs]. grid = min(CTAS_PER_SM * SMs, tiles), block = 32 * WARPS.
//           In each round CTA c takes tile c, c + CTAs, ...; vector u of a thread lies 32 * WARPS * u vectors further on.
// Tile      32 * WARPS * UNROLL * VECTOR_WIDTH elements per CTA and round; the N % VECTOR_WIDTH last elements are CTA 0's.
// Resources 4 * WARPS bytes of shared memory; VECTOR_WIDTH * UNROLL registers of loads in flight; 4 bytes of workspace
//           per CTA.
// Bound     Reading x once: N = 2^20 is 4.2 MB / 300 GB/s = 14 us on an L4, plus two launches of 1.5 us; on an H200
//           4.2 MB / 4.8 TB/s = 0.9 us plus two launches of 1 us. From some 2^24 elements on, the launches vanish.
// Limits    N <= 2^30 (indices are 32-bit); x aligned to 16 bytes.
constexpr int kWarpSize = 32;
constexpr int kWarps = WARPS;
constexpr int kVectorWidth = VECTOR_WIDTH;  // elements per load
constexpr int kUnroll = UNROLL;             // loads of a thread per round
constexpr int kThreads = kWarps * kWarpSize;
constexpr int kTile = kThreads * kUnroll;  // vectors per CTA and round
constexpr unsigned kAllLanes = 0xffffffffu;

// kCount neighbouring elements as one load; the address must be aligned to the whole.
template <int kCount>
struct alignas(sizeof(float) * kCount) Vector {
  float element[kCount];
};
using Items = Vector<kVectorWidth>;

__device__ float sum_of(const Items& items) {
  float sum = items.element[0];
#pragma unroll
  for (int k = 1; k < kVectorWidth; ++k) sum += items.element[k];
  return sum;
}

__device__ float warp_sum(float value) {
#pragma unroll
  for (int offset = kWarpSize / 2; offset > 0; offset /= 2) {
    value += __shfl_xor_sync(kAllLanes, value, offset);
  }
  return value;
}

// The sum over the CTA's threads, in thread 0.
__device__ float cta_sum(float value) {
  __shared__ float warp_sums[kWarps];
  const int warp = threadIdx.x / kWarpSize;
  const int lane = threadIdx.x % kWarpSize;
  value = warp_sum(value);
  if (lane == 0) warp_sums[warp] = value;
  __syncthreads();
  return warp == 0 ? warp_sum(lane < kWarps ? warp_sums[lane] : 0.0f) : 0.0f;
}

extern "C" __global__ void __launch_bounds__(kThreads)
    partial_sums(const float* __restrict__ x,   // [N]
                 float* __restrict__ partials,  // [gridDim.x]
                 int N) {
  const int vectors = N / kVectorWidth;
  const Items* vector = reinterpret_cast<const Items*>(x);

  float sums[kUnroll] = {};
  const int stride = gridDim.x * kTile;
  int first = blockIdx.x * kTile;
  for (; first + kTile <= vectors; first += stride) {
    Items items[kUnroll];
#pragma unroll
    for (int u = 0; u < kUnroll; ++u) items[u] = vector[first + u * kThreads + threadIdx.x];
#pragma unroll
    for (int u = 0; u < kUnroll; ++u) sums[u] += sum_of(items[u]);
  }
  // The last tile, where it is not whole, belongs to the CTA whose turn it is.
  for (int i = first + threadIdx.x; i < vectors; i += kThreads) sums[0] += sum_of(vector[i]);
  // Elements after the last whole vector: fewer than kVectorWidth.
  const int rest = vectors * kVectorWidth + threadIdx.x;
  if (blockIdx.x == 0 && rest < N) sums[0] += x[rest];

  float sum = sums[0];
#pragma unroll
  for (int u = 1; u < kUnroll; ++u) sum += sums[u];
  sum = cta_sum(sum);
  if (threadIdx.x == 0) partials[blockIdx.x] = sum;
}

extern "C" __global__ void __launch_bounds__(kThreads)
    sum_partials(const float* __restrict__ partials,  // [count]
                 float* __restrict__ y,               // [1]
                 int count) {
  float sum = 0.0f;
  for (int i = threadIdx.x; i < count; i += kThreads) sum += partials[i];
  sum = cta_sum(sum);
  if (threadIdx.x == 0) *y = sum;
}
