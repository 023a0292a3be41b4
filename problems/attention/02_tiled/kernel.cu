// 02_tiled: tiles in shared memory, softmax by one thread.
//
// Idea      Read K and V from global memory once per BLOCK_M rows instead of once per row: tiles of Q, K and V go to
//           shared memory, the scores of a tile pair too, and the output accumulates beside them.
// Change    From 01_minimal: coalesced loads and reuse through shared memory. The price is in the middle: the scores
//           now lie in shared memory, where no warp holds a row of them, so thread 0 walks the tile row by row
//           (maximum, then weights and sum) while all others wait at the barrier. This rung can be slower than the one
//           before it: a lesson the ladder keeps.
// Layouts   Q, K, V, O: fp16 or bf16 (DTYPE) [B, H, S, D], contiguous. grid = (ceil(S / BLOCK_M), B * H), block = 32 * WARPS.
//           Scores and outputs are dealt to the threads of the CTA element by element, keys and columns innermost.
//           K_smem rows are padded by PAD halves: neighbouring lanes read neighbouring keys, which without padding lie
//           in the same bank (2 * D bytes apart).
// Tile      BLOCK_M queries x BLOCK_N keys per CTA.
// Resources Shared bytes: 2 D (BLOCK_M + 2 BLOCK_N) + 2 PAD BLOCK_N (Q, K, V) + 4 BLOCK_M BLOCK_N (scores)
//           + 4 BLOCK_M D (outputs, fp32) + 12 BLOCK_M (maximum, sum, correction): 57 KiB for the default 64 x 64 at
//           D = 64, so one CTA per SM of an L4.
// Bound     The serial walk. B1 H8 S512 D64, 64 x 64: thread 0 takes 64 rows * 64 keys * 8 tiles = 33 k steps of about
//           60 clocks in the CTA's life (shared load 30, maximum or exponential and add, twice): 2 M clocks = 1 ms at
//           2.04 GHz, and 64 CTAs on the 58 SMs of an L4, one at a time, take two turns: 2 ms. The scores without
//           padding: 4.2 M requests of 32 wavefronts = 134 M wavefronts = 1.1 ms of shared memory on 58 SMs.
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
constexpr int kPad = PAD;         // halves added to a row of K_smem
constexpr int kThreads = WARPS * kWarpSize;

template <int kHeadDim>
struct SharedTiles {
  float scores[kBlockM][kBlockN];  // then weights
  float O[kBlockM][kHeadDim];      // not yet divided by running_sum
  float running_max[kBlockM];
  float running_sum[kBlockM];
  float correction[kBlockM];  // what the new maximum makes of everything added so far
  Element Q[kBlockM][kHeadDim];
  Element K[kBlockN][kHeadDim + kPad];
  Element V[kBlockN][kHeadDim];
};

// Copies rows first ... first + kRows - 1 of a matrix [S, kHeadDim] into shared memory; rows from S on become zero.
template <int kHeadDim, int kRows, int kStride>
__device__ void load_tile(Element (&tile)[kRows][kStride], const Element* __restrict__ matrix, int first, int S) {
  for (int i = threadIdx.x; i < kRows * kHeadDim; i += kThreads) {
    const int row = i / kHeadDim;
    const int column = i % kHeadDim;
    const bool exists = first + row < S;
    tile[row][column] = exists ? matrix[static_cast<size_t>(first + row) * kHeadDim + column] : rounded<Element>(0.0f);
  }
}

template <int kHeadDim>
__global__ void __launch_bounds__(kThreads)
    attention(const Element* __restrict__ Q,  // [B * H, S, kHeadDim]
              const Element* __restrict__ K,  // [B * H, S, kHeadDim]
              const Element* __restrict__ V,  // [B * H, S, kHeadDim]
              Element* __restrict__ O,        // [B * H, S, kHeadDim]
              int S, int causal, float softmax_scale) {
  static_assert(sizeof(SharedTiles<kHeadDim>) <= 99 * 1024, "tiles exceed one CTA's shared memory on sm_89");
  extern __shared__ __align__(16) unsigned char shared_bytes[];
  auto& smem = *reinterpret_cast<SharedTiles<kHeadDim>*>(shared_bytes);

  const size_t matrix = static_cast<size_t>(blockIdx.y) * S * kHeadDim;
  const int first_row = blockIdx.x * kBlockM;

  load_tile<kHeadDim>(smem.Q, Q + matrix, first_row, S);
  for (int i = threadIdx.x; i < kBlockM * kHeadDim; i += kThreads) smem.O[i / kHeadDim][i % kHeadDim] = 0.0f;
  for (int r = threadIdx.x; r < kBlockM; r += kThreads) {
    smem.running_max[r] = -INFINITY;
    smem.running_sum[r] = 0.0f;
  }

  const int key_end = causal ? min(S, first_row + kBlockM) : S;
  for (int first_key = 0; first_key < key_end; first_key += kBlockN) {
    load_tile<kHeadDim>(smem.K, K + matrix, first_key, S);
    load_tile<kHeadDim>(smem.V, V + matrix, first_key, S);
    __syncthreads();

    for (int i = threadIdx.x; i < kBlockM * kBlockN; i += kThreads) {
      const int row = i / kBlockN;
      const int key = i % kBlockN;
      float score = 0.0f;
#pragma unroll 8
      for (int d = 0; d < kHeadDim; ++d) score += to_float(smem.Q[row][d]) * to_float(smem.K[key][d]);
      const bool visible = first_key + key < S && (!causal || first_key + key <= first_row + row);
      smem.scores[row][key] = visible ? softmax_scale * score : -INFINITY;
    }
    __syncthreads();

    if (threadIdx.x == 0) {
      for (int row = 0; row < kBlockM; ++row) {
        // Key 0 is visible to every row, so new_max is finite from the first tile on.
        float new_max = smem.running_max[row];
        for (int key = 0; key < kBlockN; ++key) new_max = fmaxf(new_max, smem.scores[row][key]);
        const float correction = __expf(smem.running_max[row] - new_max);
        float sum = smem.running_sum[row] * correction;
        for (int key = 0; key < kBlockN; ++key) {
          const float weight = __expf(smem.scores[row][key] - new_max);
          smem.scores[row][key] = weight;
          sum += weight;
        }
        smem.running_max[row] = new_max;
        smem.running_sum[row] = sum;
        smem.correction[row] = correction;
      }
    }
    __syncthreads();

    for (int i = threadIdx.x; i < kBlockM * kHeadDim; i += kThreads) {
      const int row = i / kHeadDim;
      const int column = i % kHeadDim;
      float o = smem.O[row][column] * smem.correction[row];
#pragma unroll 8
      for (int key = 0; key < kBlockN; ++key) o += smem.scores[row][key] * to_float(smem.V[key][column]);
      smem.O[row][column] = o;
    }
    __syncthreads();  // before the next tile overwrites K, V and the scores
  }

  for (int i = threadIdx.x; i < kBlockM * kHeadDim; i += kThreads) {
    const int row = i / kHeadDim;
    const int column = i % kHeadDim;
    if (first_row + row < S) {
      O[matrix + static_cast<size_t>(first_row + row) * kHeadDim + column] =
          rounded<Element>(smem.O[row][column] / smem.running_sum[row]);
    }
  }
}

template __global__ void attention<32>(const Element*, const Element*, const Element*, Element*, int, int, float);
template __global__ void attention<64>(const Element*, const Element*, const Element*, Element*, int, int, float);
template __global__ void attention<96>(const Element*, const Element*, const Element*, Element*, int, int, float);
template __global__ void attention<128>(const Element*, const Element*, const Element*, Element*, int, int, float);
