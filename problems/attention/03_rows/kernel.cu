// 03_rows: a group of neighbouring threads owns each query row.
//
// Idea      T = 32 * WARPS / BLOCK_M neighbouring threads hold one query row in registers and own its outputs: thread t
//           of the group scores keys t, t + T, ... and accumulates output columns t, t + T, .... The group's scores
//           pass through one row of shared memory that no other warp touches.
// Change    From 02_tiled: the one-thread softmax is gone. Every thread finds its row's maximum itself by walking the
//           row's scores (T times the same work, but nobody waits), takes the exponentials of its own keys only, and
//           sums the weights while it multiplies them with V. Outputs, maximum and sum stay in registers; two barriers
//           per tile instead of four.
// Layouts   Q, K, V, O: fp16 or bf16 (DTYPE) [B, H, S, D], contiguous. grid = (ceil(S / BLOCK_M), B * H), block = 32 * WARPS.
//           K_smem rows are padded by PAD halves: the T keys that a request reads lie in the same bank without padding.
//           Rows of scores are padded by one float, so that the rows a warp owns start in different banks.
// Tile      BLOCK_M queries x BLOCK_N keys per CTA; BLOCK_N / T scores and D / T outputs per thread.
// Resources Shared bytes: 2 BLOCK_N (2 D + PAD) (K, V) + 4 BLOCK_M (BLOCK_N + 1) (scores): 24 KiB for the default
//           32 x 64 at D = 64. Registers: D for the query row + D / T for the outputs.
// Bound     Shared memory and issue slots. B1 H8 S512 D64, T = 4: 8.4 M warp FMAs, half of them with a 2-byte shared
//           load and a conversion each (P * V), the others with at least the conversion; 4096 rows * 512 keys * 4
//           threads / 32 lanes = 0.26 M loads for the maxima: about 25 M warp instructions = 54 us of issue slots on an
//           L4 (58 SMs * 4 schedulers * 2.04 GHz), with 128 CTAs of 4 warps, 2.2 warps per scheduler to hide latency.
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

constexpr int kWarpSize = 32;
constexpr int kBlockM = BLOCK_M;  // query rows per CTA
constexpr int kBlockN = BLOCK_N;  // keys per tile
constexpr int kWarps = WARPS;
constexpr int kPad = PAD;  // halves added to a row of K_smem
constexpr int kThreads = kWarps * kWarpSize;
constexpr int kThreadsPerRow = kThreads / kBlockM;
constexpr int kKeysPerThread = kBlockN / kThreadsPerRow;
static_assert(kThreads % kBlockM == 0, "every row must get the same number of threads");
static_assert(kWarpSize % kThreadsPerRow == 0, "a row's threads must lie in one warp, which __syncwarp relies on");
static_assert(kBlockN % kThreadsPerRow == 0, "every thread must score the same number of keys");

template <int kHeadDim>
struct SharedTiles {
  alignas(16) Element K[kBlockN][kHeadDim + kPad];
  alignas(16) Element V[kBlockN][kHeadDim];
  float scores[kBlockM][kBlockN + 1];  // then weights
};

// Copies rows first_key ... first_key + kBlockN - 1 of a matrix [S, kHeadDim] into shared memory; rows from S on become
// zero.
template <int kHeadDim, int kStride>
__device__ void load_tile(Element (&tile)[kBlockN][kStride], const Element* __restrict__ matrix, int first_key, int S) {
  for (int i = threadIdx.x; i < kBlockN * kHeadDim; i += kThreads) {
    const int key = i / kHeadDim;
    const int column = i % kHeadDim;
    const bool exists = first_key + key < S;
    tile[key][column] = exists ? matrix[static_cast<size_t>(first_key + key) * kHeadDim + column] : rounded<Element>(0.0f);
  }
}

template <int kHeadDim>
__global__ void __launch_bounds__(kThreads)
    attention(const Element* __restrict__ Q,  // [B * H, S, kHeadDim]
              const Element* __restrict__ K,  // [B * H, S, kHeadDim]
              const Element* __restrict__ V,  // [B * H, S, kHeadDim]
              Element* __restrict__ O,        // [B * H, S, kHeadDim]
              int S, int causal, float softmax_scale) {
  static_assert(kHeadDim % kThreadsPerRow == 0, "every thread owns the same number of output columns");
  static_assert(sizeof(SharedTiles<kHeadDim>) <= 99 * 1024, "tiles exceed one CTA's shared memory on sm_89");
  constexpr int kColumnsPerThread = kHeadDim / kThreadsPerRow;

  extern __shared__ __align__(16) unsigned char shared_bytes[];
  auto& smem = *reinterpret_cast<SharedTiles<kHeadDim>*>(shared_bytes);

  const int member = threadIdx.x % kThreadsPerRow;  // within the row's group
  const int tile_row = threadIdx.x / kThreadsPerRow;
  const int row = blockIdx.x * kBlockM + tile_row;
  const size_t matrix = static_cast<size_t>(blockIdx.y) * S * kHeadDim;
  float* scores = smem.scores[tile_row];  // [kBlockN], this row's

  float q[kHeadDim];
#pragma unroll
  for (int d = 0; d < kHeadDim; ++d) {
    q[d] = row < S ? softmax_scale * to_float(Q[matrix + static_cast<size_t>(row) * kHeadDim + d]) : 0.0f;
  }

  float running_max = -INFINITY;
  float running_sum = 0.0f;
  float accumulator[kColumnsPerThread] = {};  // column c * kThreadsPerRow + member

  const int row_key_end = causal ? min(S, row + 1) : S;
  const int tile_key_end = causal ? min(S, static_cast<int>(blockIdx.x + 1) * kBlockM) : S;
  for (int first_key = 0; first_key < tile_key_end; first_key += kBlockN) {
    __syncthreads();  // every warp is done with the previous tile
    load_tile<kHeadDim>(smem.K, K + matrix, first_key, S);
    load_tile<kHeadDim>(smem.V, V + matrix, first_key, S);
    __syncthreads();

#pragma unroll 1
    for (int n = 0; n < kKeysPerThread; ++n) {
      const int key = n * kThreadsPerRow + member;
      float score = 0.0f;
#pragma unroll
      for (int d = 0; d < kHeadDim; ++d) score += q[d] * to_float(smem.K[key][d]);
      scores[key] = first_key + key < row_key_end ? score : -INFINITY;
    }
    __syncwarp();

    // Key 0 is visible to every row, so new_max is finite from the first tile on.
    float new_max = running_max;
#pragma unroll 8
    for (int key = 0; key < kBlockN; ++key) new_max = fmaxf(new_max, scores[key]);
    const float correction = __expf(running_max - new_max);
    running_max = new_max;
    __syncwarp();  // all have read the scores that now become weights

    for (int n = 0; n < kKeysPerThread; ++n) {
      const int key = n * kThreadsPerRow + member;
      scores[key] = __expf(scores[key] - new_max);
    }
    __syncwarp();

    running_sum *= correction;
#pragma unroll
    for (int c = 0; c < kColumnsPerThread; ++c) accumulator[c] *= correction;
    for (int key = 0; key < kBlockN; ++key) {
      const float weight = scores[key];
      running_sum += weight;
#pragma unroll
      for (int c = 0; c < kColumnsPerThread; ++c) {
        accumulator[c] += weight * to_float(smem.V[key][c * kThreadsPerRow + member]);
      }
    }
  }

  if (row < S) {
#pragma unroll
    for (int c = 0; c < kColumnsPerThread; ++c) {
      O[matrix + static_cast<size_t>(row) * kHeadDim + c * kThreadsPerRow + member] =
          rounded<Element>(accumulator[c] / running_sum);
    }
  }
}

template __global__ void attention<32>(const Element*, const Element*, const Element*, Element*, int, int, float);
template __global__ void attention<64>(const Element*, const Element*, const Element*, Element*, int, int, float);
template __global__ void attention<96>(const Element*, const Element*, const Element*, Element*, int, int, float);
template __global__ void attention<128>(const Element*, const Element*, const Element*, Element*, int, int, float);
