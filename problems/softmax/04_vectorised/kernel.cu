// 04_vectorised: chunks of a row in registers, 16-byte loads, an exponential per element.
//
// Idea      A row's threads hold UNROLL vectors each of the row at a time: a chunk. The first pass goes over the chunks
//           forwards, with the online softmax. The second goes backwards: of the last chunk the weights are still in
//           registers, and the chunks before it are the likeliest to be in a cache. A row that fits one chunk is read
//           once, and each of its exponentials is computed once; a longer row falls back to reading the rest again.
// Change    From 03_online: VECTOR_WIDTH elements per load and store; rows cached in registers; several rows per CTA,
//           each by WARPS / ROWS_PER_CTA warps, so that short rows need no barrier to wait at (with one warp a row
//           there is none). Weights relative to the thread's maximum become outputs by one factor per thread. Base-2
//           exponentials, one instruction each, of (x - m) log2(e): one instruction more than x log2(e) - m log2(e) as
//           one fused multiply-add, which leaves what m log2(e) was rounded by. In a row that is wholly masked by -1e10
//           or less that is more than 128, and the result NaN.
// Layouts   X, Y: fp32 [R, N], row-major. grid = ceil(R / ROWS_PER_CTA), block = 32 * WARPS. Vector v of a chunk
//           belongs to thread v mod (threads of the row). Rows whose length is no multiple of VECTOR_WIDTH start at
//           addresses that no vector may: their kernel is softmax<1>, which loads single elements.
// Tile      ROWS_PER_CTA rows per CTA; 32 * WARPS / ROWS_PER_CTA * UNROLL * VECTOR_WIDTH columns at a time.
// Resources UNROLL * VECTOR_WIDTH values and a pair per thread; 8 * WARPS bytes of shared memory.
// Bound     R = 32, N = 2048: 0.25 MiB in and 0.25 MiB out, each once, are 1.7 us at the 300 GB/s of an L4's DRAM and
//           0.3 us from L2. 8 warps, one chunk: one wait (260 clocks from L2, 500 from DRAM), 8 exponentials, two
//           butterflies of 5 shuffles (25 each), a barrier and 8 pairs to combine: 1200 clocks = 0.6 us at 2.04 GHz.
//           With the launch (1.5 us) 2.4 us from L2, 3.8 us from DRAM. R = 8192, N = 4096 is 256 MiB: 0.9 ms of DRAM,
//           and nothing else comes near.
// Limits    N <= 2^30.
#include <cfloat>

constexpr int kWarpSize = 32;
constexpr int kWarps = WARPS;
constexpr int kRowsPerCta = ROWS_PER_CTA;
constexpr int kUnroll = UNROLL;  // vectors a thread holds
constexpr int kWarpsPerRow = kWarps / kRowsPerCta;
constexpr int kThreadsPerRow = kWarpsPerRow * kWarpSize;
static_assert(kWarps % kRowsPerCta == 0, "every row must get the same number of warps");

constexpr unsigned kAllLanes = 0xffffffffu;
constexpr float kLog2E = 1.4426950408889634f;

// kWidth neighbouring elements as one load or store; the address must be aligned to the whole.
template <int kWidth>
struct alignas(4 * kWidth) Vector {
  float element[kWidth];
};

template <int kWidth>
__device__ void load(float (&elements)[kWidth], const float* address) {
  const auto vector = *reinterpret_cast<const Vector<kWidth>*>(address);
#pragma unroll
  for (int i = 0; i < kWidth; ++i) elements[i] = vector.element[i];
}

template <int kWidth>
__device__ void store(float* address, const float (&elements)[kWidth]) {
  Vector<kWidth> vector;
#pragma unroll
  for (int i = 0; i < kWidth; ++i) vector.element[i] = elements[i];
  *reinterpret_cast<Vector<kWidth>*>(address) = vector;
}

// Maximum of the elements seen, and the sum of e^(x - maximum) over them. It starts at the lowest
// finite number: a pair that has seen nothing then combines without -inf - -inf, which is NaN.
struct Softmax {
  float maximum;
  float sum;
};

// e^(x - maximum)
__device__ float weight(float x, float maximum) { return exp2f((x - maximum) * kLog2E); }

__device__ float warp_max(float value) {
#pragma unroll
  for (int offset = kWarpSize / 2; offset > 0; offset /= 2) {
    value = fmaxf(value, __shfl_xor_sync(kAllLanes, value, offset));
  }
  return value;
}

__device__ float warp_sum(float value) {
#pragma unroll
  for (int offset = kWarpSize / 2; offset > 0; offset /= 2) {
    value += __shfl_xor_sync(kAllLanes, value, offset);
  }
  return value;
}

// The pair of a whole row, out of those of its threads. All threads of the CTA must call it.
__device__ Softmax combine_row(Softmax pair) {
  const float warp_maximum = warp_max(pair.maximum);
  pair.sum = warp_sum(pair.sum * weight(pair.maximum, warp_maximum));
  pair.maximum = warp_maximum;
  if constexpr (kWarpsPerRow > 1) {
    __shared__ float maxima[kWarps], sums[kWarps];
    const int warp = threadIdx.x / kWarpSize;
    if (threadIdx.x % kWarpSize == 0) {
      maxima[warp] = pair.maximum;
      sums[warp] = pair.sum;
    }
    __syncthreads();
    const int first = warp / kWarpsPerRow * kWarpsPerRow;  // of the row's warps
#pragma unroll
    for (int w = first; w < first + kWarpsPerRow; ++w) pair.maximum = fmaxf(pair.maximum, maxima[w]);
    pair.sum = 0.0f;
#pragma unroll
    for (int w = first; w < first + kWarpsPerRow; ++w) pair.sum += sums[w] * weight(maxima[w], pair.maximum);
  }
  return pair;
}

// N must be a multiple of kWidth.
template <int kWidth>
__global__ void __launch_bounds__(kWarps * kWarpSize)
    softmax(const float* __restrict__ X,  // [R, N]
            float* __restrict__ Y,        // [R, N]
            int R, int N) {
  constexpr int kChunk = kThreadsPerRow * kUnroll * kWidth;

  const int row = blockIdx.x * kRowsPerCta + threadIdx.x / kThreadsPerRow;
  const int thread = threadIdx.x % kThreadsPerRow;
  const int length = row < R ? N : 0;  // nothing to do, but barriers to reach
  const float* x = X + static_cast<size_t>(row) * N;
  float* y = Y + static_cast<size_t>(row) * N;
  const int chunk_count = (length + kChunk - 1) / kChunk;
  const auto column = [&](int chunk, int u) { return chunk * kChunk + (u * kThreadsPerRow + thread) * kWidth; };

  Softmax pair{-FLT_MAX, 0.0f};
  float values[kUnroll][kWidth];  // elements, then weights relative to pair.maximum
  for (int chunk = 0; chunk < chunk_count; ++chunk) {
    float chunk_maximum = -INFINITY;
#pragma unroll
    for (int u = 0; u < kUnroll; ++u) {
      const int c = column(chunk, u);
      if (c < length) {
        load(values[u], x + c);
      } else {
#pragma unroll
        for (int i = 0; i < kWidth; ++i) values[u][i] = -INFINITY;  // weighs nothing
      }
    }
#pragma unroll
    for (int u = 0; u < kUnroll; ++u) {
#pragma unroll
      for (int i = 0; i < kWidth; ++i) chunk_maximum = fmaxf(chunk_maximum, values[u][i]);
    }
    const float larger = fmaxf(pair.maximum, chunk_maximum);
    pair.sum *= weight(pair.maximum, larger);
    pair.maximum = larger;
#pragma unroll
    for (int u = 0; u < kUnroll; ++u) {
#pragma unroll
      for (int i = 0; i < kWidth; ++i) {
        values[u][i] = weight(values[u][i], larger);
        pair.sum += values[u][i];
      }
    }
  }

  const Softmax whole = combine_row(pair);
  const float inverse_sum = 1.0f / whole.sum;

  // The last chunk, whose weights are at hand.
  const float factor = weight(pair.maximum, whole.maximum) * inverse_sum;
#pragma unroll
  for (int u = 0; u < kUnroll; ++u) {
    const int c = column(max(chunk_count - 1, 0), u);
    if (c >= length) continue;
#pragma unroll
    for (int i = 0; i < kWidth; ++i) values[u][i] *= factor;
    store(y + c, values[u]);
  }

  // The others, all of them full, read again.
  for (int chunk = chunk_count - 2; chunk >= 0; --chunk) {
#pragma unroll
    for (int u = 0; u < kUnroll; ++u) load(values[u], x + column(chunk, u));
#pragma unroll
    for (int u = 0; u < kUnroll; ++u) {
#pragma unroll
      for (int i = 0; i < kWidth; ++i) {
        values[u][i] = weight(values[u][i], whole.maximum) * inverse_sum;
      }
      store(y + column(chunk, u), values[u]);
    }
  }
}

template __global__ void softmax<VECTOR_WIDTH>(const float*, float*, int, int);
#if VECTOR_WIDTH > 1
template __global__ void softmax<1>(const float*, float*, int, int);
#endif
