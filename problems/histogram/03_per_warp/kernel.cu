// 03_per_warp: private histograms per warp, wide loads, a persistent grid.
//
// Idea      Each warp counts in COPIES histograms of its own: warps never wait for each other's bins, and lanes that fall
//           into one bin wait for 32 / COPIES others at most. Just enough CTAs to fill the GPU walk over x together, so
//           the private histograms are zeroed and added up once per CTA, however large N is. A load brings VECTOR_WIDTH
//           values.
// Change    From 02_shared: WARPS * COPIES histograms instead of one; a grid that does not grow with N; 16-byte loads.
// Layouts   x: u8 [N]; counts: i32 [BINS]. grid = min(CTAS_PER_SM * SMs, tiles), block = 32 * WARPS. In shared memory
//           private_counts[WARPS * COPIES][BINS + 1]: one word of padding puts equal bins of a warp's copies into
//           different banks, where all lanes of a skewed input would otherwise meet.
// Tile      32 * WARPS * VECTOR_WIDTH values per CTA and round; the N % VECTOR_WIDTH last values are CTA 0's.
// Resources 4 * WARPS * COPIES * (BINS + 1) bytes of dynamic shared memory: 8 KiB at 8 warps, 1 copy, 256 bins; at most
//           16 KiB.
// Bound     Reading x once: N = 2^20 is 1 MB / 276 GB/s = 4 us on an L4, 0.2 us on an H200. 174 CTAs (3 per SM) * 8 global
//           atomics * 111 / 32 clocks / 1.7 GHz = 3 us on an L4. One shared atomic per 32 values stays: 32,768 / 58 SMs
//           = 565, each a round trip of some 300 clocks in its warp: 4 us with 24 warps per SM, 2 us with 48. More warps
//           hide latency, more CTAs cost global atomics.
// Limits    N <= 2^30 (indices are 32-bit); x aligned to 16 bytes.
constexpr int kWarpSize = 32;
constexpr int kWarps = WARPS;
constexpr int kVectorWidth = VECTOR_WIDTH;  // values per load
constexpr int kCopies = COPIES;             // histograms of a warp
constexpr int kThreads = kWarps * kWarpSize;
constexpr int kHistograms = kWarps * kCopies;  // of a CTA

// kCount neighbouring values as one load, four to a word; the address must be aligned to the whole.
template <int kCount>
struct alignas(kCount) Vector {
  unsigned word[kCount / 4];
  __device__ int element(int k) const { return (word[k / 4] >> (8 * (k % 4))) & 0xff; }
};
template <>
struct Vector<1> {
  unsigned char byte;
  __device__ int element(int) const { return byte; }
};
using Values = Vector<kVectorWidth>;

extern "C" __global__ void __launch_bounds__(kThreads)
    histogram(const unsigned char* __restrict__ x,  // [N], 0 <= x[i] < bins
              int* __restrict__ counts,             // [bins], zero
              int N, int bins) {
  extern __shared__ int private_counts[];  // [kHistograms][bins + 1]
  const int row = bins + 1;
  for (int i = threadIdx.x; i < kHistograms * row; i += kThreads) private_counts[i] = 0;
  __syncthreads();

  const int warp = threadIdx.x / kWarpSize;
  int* mine = private_counts + (warp * kCopies + threadIdx.x % kCopies) * row;
  const int vectors = N / kVectorWidth;
  const Values* vector = reinterpret_cast<const Values*>(x);
  const int stride = gridDim.x * kThreads;
  for (int i = blockIdx.x * kThreads + threadIdx.x; i < vectors; i += stride) {
    const Values values = vector[i];
#pragma unroll
    for (int k = 0; k < kVectorWidth; ++k) atomicAdd(&mine[values.element(k)], 1);
  }
  // Values after the last whole vector: fewer than kVectorWidth.
  const int rest = vectors * kVectorWidth + threadIdx.x;
  if (blockIdx.x == 0 && rest < N) atomicAdd(&mine[x[rest]], 1);
  __syncthreads();

  for (int bin = threadIdx.x; bin < bins; bin += kThreads) {
    int count = 0;
#pragma unroll
    for (int h = 0; h < kHistograms; ++h) count += private_counts[h * row + bin];
    if (count > 0) atomicAdd(&counts[bin], count);
  }
}
