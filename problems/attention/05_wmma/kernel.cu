// 05_wmma: both products by nvcuda::wmma, the portable interface of the tensor cores.
//
// Idea      wmma multiplies 16 x 16 x 16 tiles with load, multiply and store of whole fragments. It hides where an element
//           of a fragment lies, so nothing can be done to a single row inside one: scores go through shared memory to be
//           exponentiated, and outputs go through it to be rescaled.
// Change    From 04_warp: products on tensor cores; a warp owns 16 query rows, its scores, its weights and its outputs in
//           shared memory, and waits for no other warp between two tiles. Beside 05_mma, which knows the layout of the
//           fragments: the same products, and what the trips through shared memory cost.
// Layouts   Q, K, V, O: fp16 or bf16 (DTYPE) [B, H, S, D], contiguous. grid = (ceil(S / (16 WARPS)), B * H), block = 32 * WARPS.
//           A row of scores holds BLOCK_N floats and 4 more (PAD_SCORES); its weights take the first half of the row.
//           Two lanes share a row of the softmax: lane l has row l / 2, every other pair of keys.
// Tile      16 WARPS queries x BLOCK_N keys per CTA; 16 x BLOCK_N per warp.
// Resources Shared bytes: 4 BLOCK_N (D + PAD) (K and V) + 16 WARPS (4 (BLOCK_N + 4) + 4 (D + 4)): 53 KiB for 64 keys and
//           4 warps at D = 64. Registers: D / 2 (Q's fragments) + 8 per accumulator in flight.
// Bound     Per warp and tile of 64 keys at D = 64: 64 mma.sync's worth of products (1024 clocks of a scheduler's tensor
//           unit on an L4) beside 4 KiB of scores stored and loaded, 2 KiB of weights and 8 KiB of outputs, loaded and
//           stored twice: 26 KiB, 208 wavefronts of the one shared memory for each of four schedulers: 832 clocks. So
//           shared memory is as busy as the tensor cores, and each waits for the other: about half of 05_mma's speed.
// Limits    D in {32, 64, 96, 128}; any S >= 1; B * H <= 65535 (grid.y).
#include <cuda_bf16.h>
#include <cuda_fp16.h>
#include <mma.h>

using namespace nvcuda;
using Element = DTYPE;

constexpr int kWarpSize = 32;
constexpr int kBlockN = BLOCK_N;  // keys per tile
constexpr int kWarps = WARPS;
constexpr int kPad = PAD;  // halves added to a row of K and V in shared memory
constexpr int kThreads = kWarps * kWarpSize;
constexpr int kTile = 16;  // rows, columns and terms of a fragment
constexpr int kBlockM = kWarps * kTile;
constexpr int kVectorWidth = 8;  // halves of a 16-byte load
constexpr int kKeyTiles = kBlockN / kTile;
constexpr int kScorePitch = kBlockN + 4;        // floats from a row of scores to the next
constexpr int kWeightPitch = 2 * kScorePitch;   // the same in halves
static_assert(kBlockN % kTile == 0, "whole fragments of keys");
static_assert(kPad % kVectorWidth == 0, "rows in shared memory must stay 16-byte aligned");

constexpr unsigned kAllLanes = 0xffffffffu;
constexpr float kLog2E = 1.4426950408889634f;

using FragmentA = wmma::fragment<wmma::matrix_a, kTile, kTile, kTile, Element, wmma::row_major>;
using FragmentV = wmma::fragment<wmma::matrix_b, kTile, kTile, kTile, Element, wmma::row_major>;
using FragmentK = wmma::fragment<wmma::matrix_b, kTile, kTile, kTile, Element, wmma::col_major>;
using Accumulator = wmma::fragment<wmma::accumulator, kTile, kTile, kTile, float>;

__device__ float fast_exp2(float x) {
  float y;
  asm("ex2.approx.ftz.f32 %0, %1;" : "=f"(y) : "f"(x));
  return y;
}

template <typename T>
__device__ T narrow(float x);
template <>
__device__ half narrow<half>(float x) {
  return __float2half_rn(x);
}
template <>
__device__ __nv_bfloat16 narrow<__nv_bfloat16>(float x) {
  return __float2bfloat16_rn(x);
}

// What a warp alone uses.
template <int kHeadDim>
struct alignas(32) WarpMemory {
  alignas(32) float scores[kTile][kScorePitch];  // weights of a row in the first half of it
  alignas(32) float output[kTile][kHeadDim + 4];
};

template <int kHeadDim>
struct SharedTiles {
  alignas(32) Element K[kBlockN][kHeadDim + kPad];
  alignas(32) Element V[kBlockN][kHeadDim + kPad];
  WarpMemory<kHeadDim> warps[kWarps];
};

// Copies rows first_row ... of a matrix [S, kHeadDim] into shared memory, by `threads` threads; zeros from row S on.
template <int kHeadDim, int kRows, int kPitch>
__device__ void load_rows(Element (&tile)[kRows][kPitch], const Element* __restrict__ matrix, int first_row, int S,
                          int thread, int threads) {
  constexpr int kPiecesPerRow = kHeadDim / kVectorWidth;
  for (int piece = thread; piece < kRows * kPiecesPerRow; piece += threads) {
    const int row = piece / kPiecesPerRow;
    const int column = piece % kPiecesPerRow * kVectorWidth;
    uint4 halves = make_uint4(0, 0, 0, 0);
    if (first_row + row < S) {
      halves = *reinterpret_cast<const uint4*>(matrix + static_cast<size_t>(first_row + row) * kHeadDim + column);
    }
    *reinterpret_cast<uint4*>(&tile[row][column]) = halves;
  }
}

template <int kHeadDim>
__global__ void __launch_bounds__(kThreads)
    attention(const Element* __restrict__ Q,  // [B * H, S, kHeadDim]
              const Element* __restrict__ K,  // [B * H, S, kHeadDim]
              const Element* __restrict__ V,  // [B * H, S, kHeadDim]
              Element* __restrict__ O,        // [B * H, S, kHeadDim]
              int S, int causal, float softmax_scale) {
  constexpr int kHeadSteps = kHeadDim / kTile;
  extern __shared__ __align__(128) unsigned char shared_bytes[];
  auto& smem = *reinterpret_cast<SharedTiles<kHeadDim>*>(shared_bytes);

  const int warp = threadIdx.x / kWarpSize;
  const int lane = threadIdx.x % kWarpSize;
  auto& own = smem.warps[warp];
  auto* weights = reinterpret_cast<Element*>(&own.scores[0][0]);  // [kTile][kWeightPitch]
  const size_t matrix = static_cast<size_t>(blockIdx.y) * S * kHeadDim;
  const int first_row = blockIdx.x * kBlockM;
  const int warp_row = first_row + warp * kTile;
  const float scale_log2 = softmax_scale * kLog2E;

  // Q passes through the place of the outputs, which are zero afterwards.
  auto& Q_smem = reinterpret_cast<Element(&)[kTile][kHeadDim + 8]>(own.output);
  load_rows<kHeadDim>(Q_smem, Q + matrix, warp_row, S, lane, kWarpSize);
  __syncwarp();
  FragmentA Q_fragment[kHeadSteps];
#pragma unroll
  for (int k = 0; k < kHeadSteps; ++k) wmma::load_matrix_sync(Q_fragment[k], &Q_smem[0][k * kTile], kHeadDim + 8);
  __syncwarp();
  for (int i = lane; i < kTile * (kHeadDim + 4); i += kWarpSize) (&own.output[0][0])[i] = 0.0f;

  const int row = lane / 2;  // of this warp's; the other lane of the pair has it, too
  const int half_row = lane % 2;
  float row_max = -INFINITY;
  float row_sum = 0.0f;

  const int key_end = causal ? min(S, first_row + kBlockM) : S;
  for (int first_key = 0; first_key < key_end; first_key += kBlockN) {
    __syncthreads();  // every warp is done with the previous tile
    load_rows<kHeadDim>(smem.K, K + matrix, first_key, S, threadIdx.x, kThreads);
    load_rows<kHeadDim>(smem.V, V + matrix, first_key, S, threadIdx.x, kThreads);
    __syncthreads();

#pragma unroll
    for (int n = 0; n < kKeyTiles; ++n) {
      Accumulator score;
      wmma::fill_fragment(score, 0.0f);
#pragma unroll
      for (int k = 0; k < kHeadSteps; ++k) {
        FragmentK b;
        wmma::load_matrix_sync(b, &smem.K[n * kTile][k * kTile], kHeadDim + kPad);
        wmma::mma_sync(score, Q_fragment[k], b, score);
      }
      wmma::store_matrix_sync(&own.scores[0][n * kTile], score, kScorePitch, wmma::mem_row_major);
    }
    __syncwarp();

    // Scores become weights, in the same row; a lane reads all of its own before any is overwritten.
    const int last_key = min(S - 1, causal ? warp_row + row : S - 1);
    float score[kBlockN / 2];
    float tile_max = -INFINITY;
#pragma unroll
    for (int i = 0; i < kBlockN / 2; ++i) {
      const int key = i / 2 * 4 + half_row * 2 + i % 2;
      score[i] = first_key + key <= last_key ? own.scores[row][key] : -INFINITY;
      tile_max = fmaxf(tile_max, score[i]);
    }
    tile_max = fmaxf(tile_max, __shfl_xor_sync(kAllLanes, tile_max, 1));
    // Key 0 is visible to every row, so new_max is finite from the first tile on.
    const float new_max = fmaxf(row_max, tile_max);
    const float correction = fast_exp2((row_max - new_max) * scale_log2);
    row_max = new_max;
    row_sum *= correction;
    __syncwarp();
#pragma unroll
    for (int i = 0; i < kBlockN / 2; ++i) {
      const float weight = fast_exp2((score[i] - new_max) * scale_log2);
      row_sum += weight;
      weights[row * kWeightPitch + i / 2 * 4 + half_row * 2 + i % 2] = narrow<Element>(weight);
    }
#pragma unroll
    for (int i = 0; i < kHeadDim / 2; ++i) own.output[row][i * 2 + half_row] *= correction;
    __syncwarp();

#pragma unroll
    for (int d = 0; d < kHeadSteps; ++d) {
      Accumulator output;
      wmma::load_matrix_sync(output, &own.output[0][d * kTile], kHeadDim + 4, wmma::mem_row_major);
#pragma unroll
      for (int n = 0; n < kKeyTiles; ++n) {
        FragmentA a;
        FragmentV b;
        wmma::load_matrix_sync(a, weights + n * kTile, kWeightPitch);
        wmma::load_matrix_sync(b, &smem.V[n * kTile][d * kTile], kHeadDim + kPad);
        wmma::mma_sync(output, a, b, output);
      }
      wmma::store_matrix_sync(&own.output[0][d * kTile], output, kHeadDim + 4, wmma::mem_row_major);
    }
    __syncwarp();
  }

  const float inverse_sum = 1.0f / (row_sum + __shfl_xor_sync(kAllLanes, row_sum, 1));
  if (warp_row + row >= S) return;
  Element* O_row = O + matrix + static_cast<size_t>(warp_row + row) * kHeadDim;
  for (int i = 0; i < kHeadDim / 4; ++i) {
    const int column = i * 4 + half_row * 2;
    O_row[column] = narrow<Element>(own.output[row][column] * inverse_sum);
    O_row[column + 1] = narrow<Element>(own.output[row][column + 1] * inverse_sum);
  }
}

template __global__ void attention<32>(const Element*, const Element*, const Element*, Element*, int, int, float);
template __global__ void attention<64>(const Element*, const Element*, const Element*, Element*, int, int, float);
template __global__ void attention<96>(const Element*, const Element*, const Element*, Element*, int, int, float);
template __global__ void attention<128>(const Element*, const Element*, const Element*, Element*, int, int, float);
