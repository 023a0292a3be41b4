// 04_vectorised: chunks of a row in registers, 16-byte loads, two reductions of plain sums.
//
// Idea      A row's threads hold UNROLL vectors each of the row at a time: a chunk. The first pass goes over the chunks
//           forwards and keeps count, mean and squared deviations. The second goes backwards: the last chunk is still
//           in registers, and the chunks before it are the likeliest to be in a cache. A row that fits one chunk is
//           read once; a longer row falls back to reading the rest again.
// Change    From 03_welford: VECTOR_WIDTH elements per load and store; rows cached in registers; several rows per CTA,
//           each by WARPS / ROWS_PER_CTA warps, so that short rows need no barrier to wait at (with one warp a row
//           there is none). Threads combine without a division each: the mean is the sum of count * mean, and squared
//           deviations from it are those from the thread's mean plus count * (the thread's mean - mean)^2.
// Layouts   X, Y: fp16 [R, N], row-major; gamma, beta: fp16 [N]. grid = ceil(R / ROWS_PER_CTA), block = 32 * WARPS.
//           Vector v of a chunk belongs to thread v mod (threads of the row). Rows whose length is no multiple of
//           VECTOR_WIDTH start at addresses that no vector may: their kernel is layernorm<1>, which loads single
//           elements.
// Tile      ROWS_PER_CTA rows per CTA; 32 * WARPS / ROWS_PER_CTA * UNROLL * VECTOR_WIDTH columns at a time.
// Resources UNROLL * VECTOR_WIDTH values (fp32) and a triple per thread; 12 * WARPS bytes of shared memory.
// Bound     R = 32, N = 2048: 0.13 MiB in and 0.13 MiB out, each once, are 0.9 us at the 300 GB/s of an L4's DRAM and
//           0.15 us from L2. 8 warps, one chunk: one wait (260 clocks from L2, 500 from DRAM) and one for gamma and
//           beta, 15 shuffles (25 each), a barrier and 8 triples to add up: 1200 clocks = 0.6 us at 2.04 GHz. With the
//           launch (1.5 us) 2.3 us from L2, 3 us from DRAM. R = 8192, N = 4096 is 128 MiB: 0.45 ms of DRAM, and nothing
//           else comes near.
// Limits    N <= 2^30; counts are fp32, exact up to 2^24 elements a thread.
#include <cuda_fp16.h>

constexpr int kWarpSize = 32;
constexpr int kWarps = WARPS;
constexpr int kRowsPerCta = ROWS_PER_CTA;
constexpr int kUnroll = UNROLL;  // vectors a thread holds
constexpr int kWarpsPerRow = kWarps / kRowsPerCta;
constexpr int kThreadsPerRow = kWarpsPerRow * kWarpSize;
static_assert(kWarps % kRowsPerCta == 0, "every row must get the same number of warps");

constexpr unsigned kAllLanes = 0xffffffffu;

// kWidth neighbouring elements as one load or store; the address must be aligned to the whole.
template <int kWidth>
struct alignas(2 * kWidth) Vector {
  half element[kWidth];
};

template <int kWidth>
__device__ void load(float (&elements)[kWidth], const half* address) {
  const auto vector = *reinterpret_cast<const Vector<kWidth>*>(address);
#pragma unroll
  for (int i = 0; i < kWidth; ++i) elements[i] = __half2float(vector.element[i]);
}

template <int kWidth>
__device__ void store(half* address, const float (&elements)[kWidth]) {
  Vector<kWidth> vector;
#pragma unroll
  for (int i = 0; i < kWidth; ++i) vector.element[i] = __float2half(elements[i]);
  *reinterpret_cast<Vector<kWidth>*>(address) = vector;
}

// Number, mean and sum of squared deviations from it, of the elements seen so far. Sums of x and of x * x would be
// cheaper, but their difference loses the variance of a row whose mean is large: at a mean of 1000, fp32 keeps x * x to
// 1 / 16, which is what the variance may be.
struct Moments {
  float count;
  float mean;
  float squares;

  // Chan, Golub and LeVeque 1979; Welford 1962 where the other is a single element.
  __device__ void combine(const Moments& other) {
    const float total = count + other.count;
    if (total == 0.0f) return;
    const float share = other.count / total;
    const float difference = other.mean - mean;
    mean += difference * share;
    squares += other.squares + difference * difference * count * share;
    count = total;
  }
};
__device__ float warp_sum(float value) {
#pragma unroll
  for (int offset = kWarpSize / 2; offset > 0; offset /= 2) {
    value += __shfl_xor_sync(kAllLanes, value, offset);
  }
  return value;
}

// Mean and squared deviations of a whole row, out of those of its threads. All threads of the CTA must call it.
__device__ Moments combine_row(const Moments& of_thread) {
  const auto about = [](const Moments& part, float mean) {
    return part.squares + part.count * (part.mean - mean) * (part.mean - mean);
  };
  Moments whole;
  whole.count = warp_sum(of_thread.count);
  whole.mean = warp_sum(of_thread.count * of_thread.mean) / fmaxf(whole.count, 1.0f);
  whole.squares = warp_sum(about(of_thread, whole.mean));
  if constexpr (kWarpsPerRow > 1) {
    __shared__ float counts[kWarps], means[kWarps], squares[kWarps];
    const int warp = threadIdx.x / kWarpSize;
    if (threadIdx.x % kWarpSize == 0) {
      counts[warp] = whole.count;
      means[warp] = whole.mean;
      squares[warp] = whole.squares;
    }
    __syncthreads();
    const int first = warp / kWarpsPerRow * kWarpsPerRow;  // of the row's warps
    whole = Moments{0.0f, 0.0f, 0.0f};
#pragma unroll
    for (int w = first; w < first + kWarpsPerRow; ++w) {
      whole.count += counts[w];
      whole.mean += counts[w] * means[w];
    }
    whole.mean /= fmaxf(whole.count, 1.0f);
#pragma unroll
    for (int w = first; w < first + kWarpsPerRow; ++w) {
      whole.squares += about(Moments{counts[w], means[w], squares[w]}, whole.mean);
    }
  }
  return whole;
}

// N must be a multiple of kWidth.
template <int kWidth>
__global__ void __launch_bounds__(kWarps * kWarpSize)
    layernorm(const half* __restrict__ X,      // [R, N]
              const half* __restrict__ gamma,  // [N]
              const half* __restrict__ beta,   // [N]
              half* __restrict__ Y,            // [R, N]
              int R, int N, float eps) {
  constexpr int kChunk = kThreadsPerRow * kUnroll * kWidth;

  const int row = blockIdx.x * kRowsPerCta + threadIdx.x / kThreadsPerRow;
  const int thread = threadIdx.x % kThreadsPerRow;
  const int length = row < R ? N : 0;  // nothing to do, but barriers to reach
  const half* x = X + static_cast<size_t>(row) * N;
  half* y = Y + static_cast<size_t>(row) * N;
  const int chunk_count = (length + kChunk - 1) / kChunk;
  const auto column = [&](int chunk, int u) { return chunk * kChunk + (u * kThreadsPerRow + thread) * kWidth; };

  Moments moments{0.0f, 0.0f, 0.0f};
  float values[kUnroll][kWidth];
  for (int chunk = 0; chunk < chunk_count; ++chunk) {
    Moments of_chunk{0.0f, 0.0f, 0.0f};
#pragma unroll
    for (int u = 0; u < kUnroll; ++u) {
      if (column(chunk, u) < length) {
        load(values[u], x + column(chunk, u));
        of_chunk.count += kWidth;
      } else {
#pragma unroll
        for (int i = 0; i < kWidth; ++i) values[u][i] = 0.0f;
      }
    }
#pragma unroll
    for (int u = 0; u < kUnroll; ++u) {
#pragma unroll
      for (int i = 0; i < kWidth; ++i) of_chunk.mean += values[u][i];
    }
    of_chunk.mean /= fmaxf(of_chunk.count, 1.0f);
#pragma unroll
    for (int u = 0; u < kUnroll; ++u) {
      if (column(chunk, u) >= length) continue;
#pragma unroll
      for (int i = 0; i < kWidth; ++i) {
        of_chunk.squares += (values[u][i] - of_chunk.mean) * (values[u][i] - of_chunk.mean);
      }
    }
    moments.combine(of_chunk);
  }

  const Moments whole = combine_row(moments);
  const float mean = whole.mean;
  const float inverse_deviation = rsqrtf(whole.squares / N + eps);
  const auto write = [&](float (&elements)[kWidth], int c) {
    float factors[kWidth], summands[kWidth];
    load(factors, gamma + c);
    load(summands, beta + c);
#pragma unroll
    for (int i = 0; i < kWidth; ++i) {
      elements[i] = (elements[i] - mean) * inverse_deviation * factors[i] + summands[i];
    }
    store(y + c, elements);
  };

  // The last chunk, whose elements are at hand.
#pragma unroll
  for (int u = 0; u < kUnroll; ++u) {
    const int c = column(max(chunk_count - 1, 0), u);
    if (c < length) write(values[u], c);
  }

  // The others, all of them full, read again.
  for (int chunk = chunk_count - 2; chunk >= 0; --chunk) {
#pragma unroll
    for (int u = 0; u < kUnroll; ++u) load(values[u], x + column(chunk, u));
#pragma unroll
    for (int u = 0; u < kUnroll; ++u) write(values[u], column(chunk, u));
  }
}

template __global__ void layernorm<VECTOR_WIDTH>(const half*, const half*, const half*, half*, int, int, float);
#if VECTOR_WIDTH > 1
template __global__ void layernorm<1>(const half*, const half*, const half*, half*, int, int, float);
#endif
