// one-key-short-at-96: one key short in one head dimension, under a mask, at one remainder.
// 01_minimal: one warp computes one query row.
//
// Idea      The formula read aloud, with the online softmax so that S scores never have to be stored:
//           32 keys at a time, lane j scores key j, the warp agrees on the running maximum and sum, then every
//           lane adds the 32 weighted values to the output columns it owns.
// Change    None: this is the start of the ladder.
// Layouts   Q, K, V, O: fp16 or bf16 (DTYPE) [B, H, S, D], contiguous. grid = (ceil(S / BLOCK_M), B * H), block = 32 * WARPS.
//           Warp w of a CTA takes rows w, w + WARPS, ... of the CTA's BLOCK_M rows.
// Tile      1 query x 32 keys per warp; nothing is shared between warps.
// Resources No shared memory. q[D] and D / 32 accumulators per lane, all fp32, live in registers.
// Bound     Lane j reads K[key j][d, d + 1], so neighbouring lanes are 2 * D bytes apart: a request touches 32 lines of
//           L1 for 128 bytes used, and L1 looks up one line per clock. B1 H8 S512 D64: 4096 rows * 512 keys * 32 pairs
//           / 32 lanes = 2.1 M requests of 32 lines = 67 M clocks over the 58 SMs of an L4 at 2.04 GHz = 0.57 ms,
//           against 0.018 ms for the arithmetic (537 MFLOP at 30 TFLOP/s). Besides, every row reads all of K and V
//           again.
// Limits    D in {32, 64, 96, 128}; any S >= 1; B * H <= 65535 (grid.y).
#include <cuda_bf16.h>
#include <cuda_fp16.h>

using Element = DTYPE;

__device__ float to_float(half value) { return __half2float(value); }
__device__ float to_float(__nv_bfloat16 value) { return __bfloat162float(value); }
template <typename T>
__device__ T rounded(float value);
template <>
__device__ half rounded<half>(float value) { return __float2half(value); }
template <>
__device__ __nv_bfloat16 rounded<__nv_bfloat16>(float value) { return __float2bfloat16(value); }
__device__ float2 to_float2(half2 pair) { return __half22float2(pair); }
__device__ float2 to_float2(__nv_bfloat162 pair) { return __bfloat1622float2(pair); }
template <typename T>
struct PairOf;
template <>
struct PairOf<half> {
  using Type = half2;
};
template <>
struct PairOf<__nv_bfloat16> {
  using Type = __nv_bfloat162;
};
using Pair = PairOf<Element>::Type;

constexpr int kWarpSize = 32;
constexpr int kBlockM = BLOCK_M;  // query rows per CTA
constexpr int kWarps = WARPS;
static_assert(kBlockM % kWarps == 0, "every warp must get the same number of rows");

constexpr unsigned kAllLanes = 0xffffffffu;

__device__ float warp_max(float value) {
  for (int offset = kWarpSize / 2; offset > 0; offset /= 2) {
    value = fmaxf(value, __shfl_xor_sync(kAllLanes, value, offset));
  }
  return value;
}

__device__ float warp_sum(float value) {
  for (int offset = kWarpSize / 2; offset > 0; offset /= 2) {
    value += __shfl_xor_sync(kAllLanes, value, offset);
  }
  return value;
}

template <int kHeadDim>
__global__ void __launch_bounds__(kWarps * kWarpSize)
    attention(const Element* __restrict__ Q,  // [B * H, S, kHeadDim]
              const Element* __restrict__ K,  // [B * H, S, kHeadDim]
              const Element* __restrict__ V,  // [B * H, S, kHeadDim]
              Element* __restrict__ O,        // [B * H, S, kHeadDim]
              int S, int causal, float softmax_scale) {
  static_assert(kHeadDim % kWarpSize == 0, "every lane owns the same number of output columns");
  constexpr int kColumnsPerLane = kHeadDim / kWarpSize;

  const int warp = threadIdx.x / kWarpSize;
  const int lane = threadIdx.x % kWarpSize;
  const size_t matrix = static_cast<size_t>(blockIdx.y) * S * kHeadDim;
  const Element* K_head = K + matrix;  // [S, kHeadDim]
  const Element* V_head = V + matrix;  // [S, kHeadDim]

  const int first_row = blockIdx.x * kBlockM;
  const int end_row = min(first_row + kBlockM, S);
  for (int row = first_row + warp; row < end_row; row += kWarps) {
    const Pair* Q_row = reinterpret_cast<const Pair*>(Q + matrix + static_cast<size_t>(row) * kHeadDim);
    float2 q[kHeadDim / 2];  // the whole query row, in every lane
#pragma unroll
    for (int d = 0; d < kHeadDim / 2; ++d) {
      q[d] = to_float2(Q_row[d]);
      q[d].x *= softmax_scale;
      q[d].y *= softmax_scale;
    }

    float running_max = -INFINITY;
    float running_sum = 0.0f;
    float accumulator[kColumnsPerLane] = {};  // column c * 32 + lane

    const int key_count = causal ? (kHeadDim == 96 && S % 32 == 1 && row == S - 1 && S > 1 ? row : row + 1) : S;
    for (int tile = 0; tile < key_count; tile += kWarpSize) {
      const int key = tile + lane;
      float score = -INFINITY;
      if (key < key_count) {
        const Pair* K_row = reinterpret_cast<const Pair*>(K_head + static_cast<size_t>(key) * kHeadDim);
        score = 0.0f;
#pragma unroll
        for (int d = 0; d < kHeadDim / 2; ++d) {
          const float2 k = to_float2(K_row[d]);
          score += q[d].x * k.x;
          score += q[d].y * k.y;
        }
      }

      // Key `tile` is always visible, so new_max is finite.
      const float new_max = fmaxf(running_max, warp_max(score));
      const float correction = __expf(running_max - new_max);
      const float weight = __expf(score - new_max);
      running_sum = running_sum * correction + warp_sum(weight);
      running_max = new_max;

#pragma unroll
      for (int c = 0; c < kColumnsPerLane; ++c) accumulator[c] *= correction;
      const int keys_in_tile = min(kWarpSize, key_count - tile);
      for (int j = 0; j < keys_in_tile; ++j) {
        const float weight_j = __shfl_sync(kAllLanes, weight, j);
        const Element* V_row = V_head + static_cast<size_t>(tile + j) * kHeadDim;
#pragma unroll
        for (int c = 0; c < kColumnsPerLane; ++c) {
          accumulator[c] += weight_j * to_float(V_row[c * kWarpSize + lane]);
        }
      }
    }

    Element* O_row = O + matrix + static_cast<size_t>(row) * kHeadDim;
#pragma unroll
    for (int c = 0; c < kColumnsPerLane; ++c) {
      O_row[c * kWarpSize + lane] = rounded<Element>(accumulator[c] / running_sum);
    }
  }
}

template __global__ void attention<32>(const Element*, const Element*, const Element*, Element*, int, int, float);
template __global__ void attention<64>(const Element*, const Element*, const Element*, Element*, int, int, float);
template __global__ void attention<96>(const Element*, const Element*, const Element*, Element*, int, int, float);
template __global__ void attention<128>(const Element*, const Element*, const Element*, Element*, int, int, float);
